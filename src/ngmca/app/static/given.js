// A file of this computer for a field: it is copied to the session, and the field then names the copy.
const address = `/s/${document.getElementById('data').dataset.session}`;

async function give(input) {
  const told = input.closest('.own').querySelector('[role=status]'), files = [...input.files];
  if (!files.length) return;
  const stamp = Date.now().toString(36);
  try {
    let found;
    for (const file of files) {
      told.textContent = `Copying ${file.name} …`;
      const name = encodeURIComponent(`${stamp}/${file.name}`);
      const answer = await fetch(`${address}/files?name=${name}`, {method: 'PUT', body: file, headers: {Accept: 'application/json'}});
      found = await answer.json();
      if (!answer.ok) throw new Error(found.error);
    }
    const field = document.getElementById(`f-${input.dataset.into}`);
    field.value = files.length > 1 ? found.folder : found.path;
    field.dispatchEvent(new Event('change', {bubbles: true}));
    told.textContent = '';
  } catch (error) { told.textContent = error.message; }
  input.value = '';
}
for (const input of document.querySelectorAll('[data-into]')) input.addEventListener('change', () => give(input));
