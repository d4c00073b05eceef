import {ask, draw, name, wait} from './figures.js';

const address = document.getElementById('result').dataset.address, find = id => document.getElementById(id);
let shown = null, pointed = -1;

// The source whose row of a figure the pointer is in: sources are drawn one below another.
const rowOf = point => Number((point.yaxis?._id || 'y').slice(1) || 1) - 1;

// Pointing at a spectrum shows its map, or leaves its amounts alone in full colour, and the other way round.
async function point(source) {
  if (source === pointed) return;
  pointed = source;
  const which = find('which'), map = `map-${source}`;
  if (which.value.startsWith('map-') && which.value !== map) { which.value = map; await figure(); }
  for (const [box, drawn] of [[find('spectra'), true], [find('figure'), ['weights', 'shares', 'sources'].includes(which.value)]]) {
    if (!drawn || !box.data) continue;
    const stacked = which.value === 'shares' && box.id === 'figure';
    const faint = box.data.map((trace, k) => (stacked ? k : Number((trace.yaxis || 'y').slice(1) || 1) - 1) === source ? 1 : 0.25);
    await Plotly.restyle(box, {opacity: faint});
  }
  find('look').dataset.source = source + 1;
}
async function spectra() {
  const box = find('spectra');
  await draw(box, (await ask(`${address}/figure/sources`)).figure);
  name(box, 'Spectra of the sources');
  box.on('plotly_hover', event => point(rowOf(event.points[0])));
}

async function figure() {
  const which = find('which').value, box = find('figure');
  shown = await ask(`${address}/figure/${which}`);
  await draw(box, shown.figure);
  name(box, find('which').selectedOptions[0].textContent);
  for (const kind of ['plotly_click', 'plotly_hover']) box.removeAllListeners?.(kind);
  pointed = -1;
  if (which === 'weights' || which === 'sources') box.on('plotly_hover', event => point(rowOf(event.points[0])));
  if (which === 'shares') box.on('plotly_hover', event => point(event.points[0].curveNumber));
  box.on('plotly_click', event => {
    const point = event.points[0];
    let row = null;
    if (shown.image && which.startsWith('map'))
      row = point.pointIndex[0] * shown.step * shown.image[1] + point.pointIndex[1] * shown.step;
    else if (which !== 'sources') {
      const gaps = shown.places.map(place => Math.abs(place - Number(point.x)));
      row = gaps.indexOf(Math.min(...gaps));
    }
    if (row != null) { find('row').value = row + 1; fit(); }
  });
}

let asked = 0;
async function fit() {
  const mine = ++asked;
  for (;;) {
    let found;
    try { found = await ask(`${address}/fit?row=${find('row').value - 1}`); }
    catch (error) { find('fit-told').textContent = error.message; return; }
    if (mine !== asked) return;
    if (found.figure) {
      await draw(find('fit'), found.figure);
      name(find('fit'), `Measurement ${found.row + 1} with its fit and residual`);
      find('fit-told').textContent = '';
      return;
    }
    find('fit-told').textContent = 'Reading the data …';
    await wait(500);
  }
}

// A figure for a paper: millimetres at 96 dots per inch, 8 points Arial, a PNG with 600 dots per inch.
async function save(format) {
  const width = find('size').value / 25.4 * 96, layout = structuredClone(shown.figure.layout);
  const height = Math.min(width * 1.2, Math.max(width * 0.6, (layout.height || 300) * width / 700));
  const off = document.createElement('div');
  layout.font = {...layout.font, family: 'Arial, Helvetica, sans-serif', size: 8 * 96 / 72};
  Object.assign(layout, {width, height, autosize: false, paper_bgcolor: '#fff'});
  await Plotly.newPlot(off, structuredClone(shown.figure.data), layout);
  const scale = format === 'png' ? 600 / 96 : 1;
  await Plotly.downloadImage(off, {format, width, height, scale, filename: find('which').value});
  Plotly.purge(off);
}
for (const one of document.querySelectorAll('[data-format]'))
  one.addEventListener('click', () => save(one.dataset.format));
find('which').addEventListener('change', figure);
find('row').addEventListener('change', fit);
// All maps, small, beside each other; the name of one shows it large.
async function maps() {
  for (const box of document.querySelectorAll('[data-map]')) {
    const drawn = (await ask(`${address}/figure/${box.dataset.map}`)).figure;
    Object.assign(drawn.layout, {height: 200, margin: {l: 8, r: 8, t: 8, b: 8}});
    for (const key of ['xaxis', 'yaxis']) Object.assign(drawn.layout[key] ||= {}, {visible: false});
    for (const trace of drawn.data) trace.showscale = false;
    await draw(box, drawn);
    name(box, box.closest('figure').querySelector('button').textContent);
  }
}
for (const one of document.querySelectorAll('[data-show]')) one.addEventListener('click', () => {
  find('which').value = one.dataset.show;
  figure();
  find('figure').scrollIntoView({block: 'center'});
});
figure().then(spectra).then(fit).then(maps);
