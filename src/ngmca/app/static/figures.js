// What all pages share: asking the server, and drawing its figures.
const settings = {responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: '',
  modeBarButtonsToRemove: ['lasso2d', 'autoScale2d', 'zoomIn2d', 'zoomOut2d', 'toImage']};

export async function ask(address, options = {}) {
  const answer = await fetch(address, {headers: {Accept: 'application/json'}, ...options});
  const found = await answer.json().catch(() => ({error: `The server answered with ${answer.status}.`}));
  if (!answer.ok) throw new Error(found.error || `The server answered with ${answer.status}.`);
  return found;
}

export function draw(box, figure) {
  return Plotly.react(box, figure.data, {...figure.layout, autosize: true}, settings);
}

export function name(box, words) {
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', words);
}

export const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));
