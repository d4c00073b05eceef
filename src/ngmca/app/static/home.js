// Dropped files go to the server one by one, each as it is; the browser never holds them in memory.
const drop = document.getElementById('drop'), bar = document.getElementById('bar');
const told = document.getElementById('told'), box = document.getElementById('upload');
let current = null, cancelled = false;

for (const form of document.querySelectorAll('form[data-confirm]'))
  form.addEventListener('submit', event => { if (!confirm(form.dataset.confirm)) event.preventDefault(); });

async function entries(folder) {
  const reader = folder.createReader(), found = [];
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    found.push(...some);
  }
}
async function filesOf(entry, path = '') {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return file.name.startsWith('.') ? [] : [[path + file.name, file]];
  }
  const inside = await Promise.all((await entries(entry)).map(one => filesOf(one, `${path}${entry.name}/`)));
  return inside.flat();
}

function send(session, name, file, before, total) {
  return new Promise((done, failed) => {
    current = new XMLHttpRequest();
    current.open('PUT', `/upload/${session}?name=${encodeURIComponent(name)}`);
    current.upload.onprogress = event => {
      bar.value = (before + event.loaded) / Math.max(total, 1);
      told.textContent = `${name}: ${Math.round(100 * bar.value)} % of all`;
    };
    current.onload = () => {
      if (current.status < 300) return done();
      let words = `The server answered with ${current.status}.`;
      try { words = JSON.parse(current.responseText).error; } catch { /* not JSON */ }
      failed(new Error(words));
    };
    current.onerror = () => failed(new Error('The connection was lost.'));
    current.onabort = () => failed(new Error('Cancelled.'));
    current.send(file);
  });
}

async function upload(files) {
  if (!files.length) return;
  box.hidden = false; cancelled = false;
  const total = files.reduce((sum, [, file]) => sum + file.size, 0);
  let session = null;
  try {
    session = (await (await fetch('/upload', {method: 'POST'})).json()).session;
    let before = 0;
    for (const [name, file] of files) {
      if (cancelled) throw new Error('Cancelled.');
      await send(session, name, file, before, total);
      before += file.size;
    }
    const answer = await fetch(`/upload/${session}`, {method: 'POST', headers: {Accept: 'application/json'}});
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    location.href = `/s/${session}`;
  } catch (error) {
    told.textContent = error.message;
    if (session) fetch(`/s/${session}/delete`, {method: 'POST'});
  }
}

document.getElementById('cancel').addEventListener('click', () => { cancelled = true; current?.abort(); });
for (const id of ['files', 'folder']) document.getElementById(id).addEventListener('change', event =>
  upload([...event.target.files].filter(file => !file.name.startsWith('.')).map(file => [file.webkitRelativePath || file.name, file])));
for (const kind of ['dragover', 'dragleave', 'drop']) drop.addEventListener(kind, event => {
  event.preventDefault();
  drop.classList.toggle('over', kind === 'dragover');
});
drop.addEventListener('drop', async event => {
  const dropped = [...event.dataTransfer.items].map(one => one.webkitGetAsEntry()).filter(Boolean);
  upload((await Promise.all(dropped.map(one => filesOf(one)))).flat());
});
