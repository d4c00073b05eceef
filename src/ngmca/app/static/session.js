import {ask, draw, name, wait} from './figures.js';

const address = `/s/${document.getElementById('data').dataset.session}`;
const form = document.getElementById('steps'), find = id => document.getElementById(id);
let facts = null, row = 0, reading = 0, part = null;

// The data: read in another process, which may take a while.
async function preview() {
  const mine = ++reading;
  find('reading').hidden = false; find('reading-error').hidden = find('reading-question').hidden = true;
  for (;;) {
    const found = await ask(`${address}/preview`);
    if (mine !== reading) return;
    if (found.error || found.facts) {
      find('reading').hidden = true;
      const asks = Boolean(found.choices?.length);
      find('reading-error').hidden = !found.error || asks;
      find('reading-error').firstElementChild.textContent = found.error || '';
      find('reading-question').hidden = !asks;
      find('reading-question').querySelector('span').textContent = found.error || '';
      find('reading-question').querySelector('.buttons').replaceChildren(...(found.choices || []).map(one => {
        const made = Object.assign(document.createElement('button'), {type: 'button', textContent: one.words});
        made.addEventListener('click', () => set(one.name, one.value));
        return made;
      }));
      if (found.error) { find('seen').hidden = true; return; }
      for (const box of document.querySelectorAll('#group-reading .field')) box.hidden = found.unfit.includes(box.dataset.name);
      facts = found.facts;
      break;
    }
    find('reading').lastChild.textContent = ` Reading the data, ${Math.round(found.seconds)} s …`;
    await wait(400);
  }
  find('seen').hidden = false;
  find('facts').replaceChildren(...facts.words.map(([key, value]) => {
    const line = document.createElement('tr'), head = document.createElement('th'), cell = document.createElement('td');
    head.scope = 'row'; head.textContent = key; cell.textContent = value;
    line.append(head, cell);
    return line;
  }));
  find('notes').replaceChildren(...facts.notes.map(text => Object.assign(document.createElement('li'), {textContent: text})));
  find('notes').hidden = !facts.notes.length;
  find('along').hidden = Boolean(facts.image_shape) || Boolean(facts.row_label) || facts.measurements < 2;
  find('row').max = facts.measurements;
  askTimes();
  const heat = find('heat');
  await draw(heat, facts.heat);
  name(heat, 'Heat map of all measurements; choose one by its number beside the next figure');
  heat.removeAllListeners?.('plotly_click');
  heat.on('plotly_click', event => {
    const [down, across] = event.points[0].pointIndex, how = facts.rows;
    row = how.rows ? how.rows[down] : down * how.step * how.columns + across * how.step;
    find('row').value = row + 1;
    spectrum();
  });
  row = Math.min(row, facts.measurements - 1);
  await spectrum();
}

async function spectrum() {
  const found = await ask(`${address}/spectrum?row=${row}`), box = find('spectrum');
  await draw(box, found.figure);
  name(box, `Spectrum of measurement ${found.row + 1}`);
  find('used').textContent = found.error || `${found.used} of ${facts.channels} channels are used.`;
  box.removeAllListeners?.('plotly_selected');
  box.on('plotly_selected', event => {
    const ends = event?.range?.x?.map(Number).sort((a, b) => a - b);
    part = ends ? ends.map(end => Number(end.toPrecision(6))).join(':') : null;
    find('chosen').hidden = !part;
    find('chosen').firstElementChild.textContent = part ? `Chosen: ${part.replace(':', ' to ')}` : '';
  });
}
find('row').addEventListener('change', () => { row = Math.max(0, find('row').value - 1); spectrum(); });
find('only').addEventListener('click', () => set('range', part));
find('without').addEventListener('click', () => {
  const before = form.elements.leave_out.value;
  set('leave_out', before ? `${before},${part}` : part);
});
// A series: the first time with the last one or with the step becomes the text of one setting.
find('along-use').addEventListener('click', () => {
  const number = id => Number(find(id).value.replace(',', '.') || NaN);
  const first = number('along-first'), value = number('along-value');
  const step = find('along-kind').value === 'step' ? value : (value - first) / (facts.measurements - 1);
  const fits = Number.isFinite(first) && Number.isFinite(step) && step !== 0;
  find('along-told').textContent = fits ? '' : 'Write two different numbers.';
  const plain = x => x.toFixed(10).replace(/\.?0+$/, ''), unit = find('along-unit').value.trim();
  if (fits) set('rows', `${find('along-name').value.trim() || 'time'}${unit ? ` [${unit}]` : ''} ${plain(first)}:${plain(step)}`);
});
function go(name) {
  const group = find(`group-${name}`) || form.elements[name].closest('details[id^=group]');
  group.open = true;
  const target = form.elements[name] || group.firstElementChild;
  target.focus(); target.scrollIntoView({block: 'center'});
}
// Times are asked for below the heat map, all other fields are in their group.
function change(name) {
  if (name !== 'rows' || !facts || facts.image_shape) { go(name); return; }
  find('along').hidden = false;
  find('along-value').focus(); find('along').scrollIntoView({block: 'center'});
}
find('say-times').addEventListener('click', () => change('rows'));
// Standards are found by their times only if those of the measurements are known.
function askTimes() {
  const known = !facts || facts.row_label || facts.named || facts.image_shape || form.elements.rows.value;
  find('standards-times').hidden = known || !form.elements.standards.value;
}
for (const one of document.querySelectorAll('[data-go]')) one.addEventListener('click', () => go(one.dataset.go));
function set(field, value) {
  form.elements[field].value = value;
  find('chosen').hidden = true;
  keep({target: form.elements[field]});
}

// The steps: every change is kept at once, and what does not go together with it turns grey.
let queue = Promise.resolve();
function keep(event) {
  const field = event.target.name?.split('.')[0], sent = new FormData(form);
  queue = queue.then(async () => {
    find('saved').textContent = 'Keeping …';
    try {
      show(await ask(`${address}/settings`, {method: 'POST', body: sent}), sent);
      find('form-error').hidden = true;
      find('saved').textContent = 'Kept.';
      if (document.querySelector(`#group-reading [data-name="${CSS.escape(field)}"]`)) preview();
      else if (['range', 'leave_out', 'leave_rows'].includes(field) && facts) spectrum();
    } catch (error) {
      find('form-error').textContent = error.message;
      find('form-error').hidden = false;
      find('saved').textContent = '';
    }
  });
}
form.addEventListener('change', event => { if (event.target.name) keep(event); });
form.addEventListener('submit', event => {
  event.preventDefault();
  queue = queue.then(async () => {
    const body = new FormData(form);
    body.set('do', 'run');
    try {
      await fetch(`${address}/settings`, {method: 'POST', body, redirect: 'manual', headers: {Accept: 'application/json'}})
        .then(async answer => { if (answer.status >= 400) throw new Error((await answer.json()).error); });
      find('form-error').hidden = true;
      await runs();
      find('runs').scrollIntoView({behavior: 'smooth'});
    } catch (error) {
      find('form-error').textContent = error.message;
      find('form-error').hidden = false;
      find('form-error').scrollIntoView({block: 'center'});
    }
  });
});
find('undo').addEventListener('click', async () => {
  show(await ask(`${address}/undo`, {method: 'POST'}));
  find('saved').textContent = 'Undone.';
  preview();
});

// Fields that were changed after the form was sent stay as they are: their own change follows.
function show(state, sent = null) {
  for (const [field, value] of Object.entries(state.values)) {
    const input = form.elements[field], pasted = form.elements[`${field}.pasted`];
    if (input.type === 'checkbox') {
      if (!sent || sent.has(field) === input.checked) input.checked = value === 'True';
    } else if (!sent || (sent.get(field) ?? '') === input.value || input.disabled) input.value = value;
    if (pasted && sent && pasted.value === sent.get(`${field}.pasted`)) pasted.value = '';
  }
  for (const [field, why] of Object.entries(state.reasons)) {
    const input = form.elements[field], box = document.querySelector(`[data-name="${CSS.escape(field)}"] .reason`);
    input.disabled = Boolean(why.off);
    const own = document.querySelector(`[data-into="${CSS.escape(field)}"]`);
    if (own) own.disabled = input.disabled;
    box.textContent = why.off ? ` Not possible now: ${why.off}` : '';
    for (const one of input.options || []) {
      const reason = why.choices[one.value];
      one.disabled = Boolean(reason);
      one.textContent = one.textContent.split(' (not possible')[0] + (reason ? ` (not possible: ${reason})` : '');
    }
  }
  for (const [group, given] of Object.entries(state.given))
    document.querySelector(`[data-group="${CSS.escape(group)}"]`).textContent = given.join('; ');
  listed(state.steps);
  askTimes();
  find('toml').textContent = state.toml;
  find('undo').disabled = !state.undo;
}

// The steps in a list; one that is switched off keeps its value.
function listed(steps) {
  find('list').replaceChildren(...steps.map(step => {
    const line = document.createElement('li'), label = document.createElement('label');
    const box = Object.assign(document.createElement('input'), {type: 'checkbox', checked: step.on, disabled: !step.can_be_off});
    label.append(box, ` ${step.label}: ${step.value}`);
    label.className = step.on ? '' : 'off';
    box.addEventListener('change', event => {
      event.stopPropagation();
      queue = queue.then(() => changed(`${address}/switch`, new URLSearchParams({name: step.name}), `${step.label} is ${step.on ? 'off' : 'on'}.`));
    });
    line.append(label);
    return line;
  }));
}
async function changed(where, body, words) {
  try {
    show(await ask(where, {method: 'POST', body}));
    find('form-error').hidden = true;
    find('saved').textContent = words;
    preview();
  } catch (error) { find('form-error').textContent = error.message; find('form-error').hidden = false; }
}

// Spectra of the library that are taken as known.
find('pick').addEventListener('toggle', async () => {
  if (!find('pick').open) return;
  find('pick-use').hidden = true; find('pick-list').replaceChildren();
  try {
    let found;
    while (!(found = await ask(`${address}/library`)).names) { find('pick-told').textContent = 'Reading the library …'; await wait(400); }
    find('pick-told').textContent = 'Their shape is known, their scale is free.';
    find('pick-list').replaceChildren(...found.names.map((text, k) => {
      const label = document.createElement('label');
      label.append(Object.assign(document.createElement('input'), {type: 'checkbox', value: k}), ` ${text}`);
      return label;
    }));
    find('pick-use').hidden = false;
  } catch (error) { find('pick-told').textContent = error.message; }
});
find('pick-use').addEventListener('click', () => {
  const body = new URLSearchParams([...find('pick-list').querySelectorAll('input:checked')].map(one => ['spectrum', one.value]));
  queue = queue.then(() => changed(`${address}/library`, body, 'The known spectra are chosen.'));
});

// The runs: asked for twice a second while one is at work.
const cards = new Map();
function card(run) {
  if (!cards.has(run.number)) {
    const made = find('run-card').content.firstElementChild.cloneNode(true);
    made.querySelector('h3').textContent = `Run ${run.number}`;
    cards.set(run.number, made);
    if (cards.size === 1) find('run-list').replaceChildren();
    find('run-list').prepend(made);
  }
  return cards.get(run.number);
}
function plain(words, action) {
  const one = Object.assign(document.createElement('button'), {type: 'button', textContent: words});
  one.addEventListener('click', action);
  return one;
}
function button(words, action, run) {
  const one = Object.assign(document.createElement('button'), {type: 'button', textContent: words});
  one.addEventListener('click', async () => {
    one.disabled = true;
    const answer = await fetch(`${address}/runs/${run.number}/${action}`, {method: 'POST', redirect: 'manual', headers: {Accept: 'application/json'}});
    if (answer.status >= 400) card(run).querySelector('.state').textContent = (await answer.json()).error;
    runs();
  });
  return one;
}
function told(run) {
  const box = card(run), bar = box.querySelector('progress'), buttons = box.querySelector('.buttons');
  const words = {done: 'Done.', running: run.words}[run.state] ?? run.words;
  const state = box.querySelector('.state');
  if (state.textContent !== words) state.textContent = words;
  bar.hidden = run.state !== 'running';
  if (run.share == null) bar.removeAttribute('value'); else bar.value = run.share;
  const live = [];
  if (run.threshold != null) live.push(`threshold ${run.threshold.toPrecision(3)}`, `residual ${(100 * run.residual).toPrecision(3)} %`);
  if (run.left != null) live.push(`about ${run.left < 90 ? `${run.left} s` : `${Math.round(run.left / 60)} min`} left`);
  box.querySelector('.live-words').textContent = live.join(', ');
  if (box.dataset.state !== run.state) {
    box.dataset.state = run.state;
    buttons.replaceChildren();
    if (run.state === 'running') buttons.append(button('Stop', 'stop', run));
    if (run.can_resume) buttons.append(button('Continue', 'resume', run));
    for (const one of run.change || []) buttons.append(plain(`Change “${one.label}”`, () => change(one.name)));
    if (['failed', 'killed', 'stopped'].includes(run.state)) buttons.append(plain('Run again', () => form.requestSubmit()));
    if (run.state === 'failed') buttons.append(Object.assign(document.createElement('a'), {href: `${address}/runs/${run.number}/log`, textContent: 'What the command printed'}));
    if (run.state === 'done') buttons.append(Object.assign(document.createElement('a'), {href: `${address}/runs/${run.number}`, textContent: 'Look at the result', className: 'button main'}));
  }
  const plot = box.querySelector('.plot');
  plot.hidden = !run.live;
  if (run.live && (run.state === 'running' || !plot.dataset.drawn))
    ask(`${address}/runs/${run.number}/live`).then(async figure => {
      await draw(plot, figure);
      plot.dataset.drawn = 1;
      name(plot, 'The sources as they are now');
    }).catch(() => {});
}
let asking = null;
async function runs() {
  clearTimeout(asking);
  try {
    const all = await ask(`${address}/runs`);
    for (const run of all.reverse()) told(run);
    if (all.some(run => run.state === 'running')) asking = setTimeout(runs, 500);
  } catch { asking = setTimeout(runs, 3000); }
}

preview().catch(error => { find('reading').hidden = true; find('reading-error').hidden = false; find('reading-error').firstElementChild.textContent = error.message; });
runs();
ask(`${address}/settings`).then(show).catch(() => {});
