// One linked view of a separation. All text is set by textContent, so that no name becomes markup.
const SVG = "http://www.w3.org/2000/svg";
const CSS = `
.ngmca { font: 13px system-ui, sans-serif; padding: 8px; box-sizing: border-box; container-type: inline-size;
  background: var(--jp-layout-color0, var(--vscode-editor-background, Canvas));
  color: var(--jp-content-font-color1, var(--vscode-editor-foreground, CanvasText)); }
.ngmca .sources { display: grid; grid-template-columns: 112px minmax(0, 2fr) minmax(0, 1fr); gap: 4px 8px;
  align-items: center; max-height: 460px; overflow: auto; }
@container (max-width: 480px) { .ngmca .sources { grid-template-columns: 88px minmax(0, 1fr) minmax(0, 1fr); } }
.ngmca .head { opacity: .7; font-size: 12px; }
.ngmca button, .ngmca input { font: inherit; color: inherit; background: transparent; padding: 2px 6px;
  border: 1px solid color-mix(in srgb, currentColor 40%, transparent); border-radius: 4px; }
.ngmca button { cursor: pointer; } .ngmca input { width: 6.5em; }
.ngmca .name { text-align: left; border-left-width: 5px; } .ngmca .name small { display: block; opacity: .75; }
.ngmca .name[aria-pressed=true] { background: color-mix(in srgb, currentColor 14%, transparent); }
.ngmca :focus-visible { outline: 2px solid #3b82f6; outline-offset: 1px; }
.ngmca svg, .ngmca canvas { display: block; width: 100%; } .ngmca canvas { image-rendering: pixelated;
  outline: 1px solid color-mix(in srgb, currentColor 20%, transparent); outline-offset: 0; }
.ngmca .map { position: relative; width: fit-content; cursor: pointer; }
.ngmca .map i { position: absolute; border: 2px solid currentColor; outline: 1px solid Canvas; box-sizing: border-box;
  pointer-events: none; }
.ngmca .faint { opacity: .25; } .ngmca .bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center;
  margin: 8px 0 2px; } .ngmca .value { margin-top: 4px; }
.ngmca .told, .ngmca .value { font-variant-numeric: tabular-nums; min-height: 1.3em; }
.ngmca .note { opacity: .7; font-size: 12px; } .ngmca .key { margin-right: 10px; white-space: nowrap; }
.ngmca .key::before { content: ""; display: inline-block; width: 14px; height: 3px; margin-right: 4px;
  vertical-align: middle; background: var(--ink); }
.ngmca text { fill: currentColor; font-size: 10px; }`;
const FIT = "#d98200", MEASURED = "#8a95a1", LEFT = 52, RIGHT = 14;

function numbers(model, name) {
  const got = model.get(name);
  if (!got || !got.byteLength) return new Float64Array(0);
  const bytes = got.buffer.slice(got.byteOffset, got.byteOffset + got.byteLength);
  return name === "Y" ? new Float32Array(bytes) : new Float64Array(bytes);
}

function make(tag, about = {}, ...inside) {
  const made = tag === "svg" || tag === "path" || tag === "line" || tag === "text" || tag === "rect"
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name === "text") made.textContent = value; else made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
}

const short = (value, digits = 4) => Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "missing";

function ends(lists, zero = true) {
  let low = zero ? 0 : Infinity, high = zero ? 0 : -Infinity;
  for (const list of lists) for (const value of list) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high > low ? [low, high] : [low, low + 1];
}

// A path through values at places from 0 to 1. Of many values in one pixel, the lowest and the highest are drawn.
function path(values, places, [low, high], width, top, height) {
  const words = [];
  const y = (value) => (top + height * (1 - (value - low) / (high - low))).toFixed(1);
  let pen = "M", column = -1, first, least, most;
  const close = () => {
    if (column < 0) return;
    words.push(`${pen}${first},${y(least)}`);
    if (most > least) words.push(`L${first},${y(most)}`);
    pen = "L"; column = -1;
  };
  for (let k = 0; k < values.length; k++) {
    const value = values[k];
    if (!Number.isFinite(value)) { close(); pen = "M"; continue; }
    const x = places[k] * width, here = Math.floor(2 * x);
    if (here !== column) { close(); column = here; first = (LEFT + x).toFixed(1); least = most = value; }
    else if (value < least) least = value;
    else if (value > most) most = value;
  }
  close();
  return words.join("");
}

function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999) || raw;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step && found.length < 20; k++) found.push(k * step);
  return found;
}

function begin(model) {
  const facts = model.get("facts"), r = facts.sources;
  const [rows, axis, A, S, shares, weights, basis, Y, noise] =
    ["rows", "axis", "A", "S", "shares", "weights", "basis", "Y", "noise"].map((name) => numbers(model, name));
  const n = axis.length, m = rows.length, q = n ? basis.length / n : 0;
  const span = axis[n - 1] - axis[0];
  const places = axis.map((one) => span ? (one - axis[0]) / span : 0.5);
  // What source i, or the background (i = -1), adds to measurement k.
  const part = (k, i) => {
    const found = new Float64Array(n);
    const [left, right, count, from] = i < 0 ? [weights, basis, q, 0] : [A, S, r, i];
    for (let j = from; j < (i < 0 ? q : i + 1); j++) {
      const weight = left[k * count + j];
      for (let c = 0; c < n; c++) found[c] += weight * right[j * n + c];
    }
    return found;
  };
  const measured = (k) => Float64Array.from(Y.subarray(k * n, (k + 1) * n), (value) => value * facts.unit);
  return { facts, r, n, m, q, rows, axis, places, A, S, shares, noise, part, measured };
}

export function render({ model, el }) {
  const own = begin(model);
  const { facts, r, n, m, rows } = own, HEIGHT = facts.image ? 96 : 54;
  let cursor = -1;
  const root = make("div", { class: "ngmca" });
  const grid = make("div", { class: "sources" });
  const told = make("div", { class: "told", "aria-live": "polite" });
  const fit = make("div", { class: "fit", tabindex: 0, role: "img", "aria-label": "fit and residual: arrow keys move" });
  const value = make("div", { class: "value", "aria-live": "polite" });
  const field = make("input", { type: "number", min: 1, max: facts.total, "aria-label": "measurement" });
  const back = make("button", { text: "‹", "aria-label": "previous measurement" });
  const next = make("button", { text: "›", "aria-label": "next measurement" });
  const bar = make("div", { class: "bar" }, make("span", { text: "measurement" }), back, field, next, told);
  const key = make("div", { class: "note" });
  const notes = facts.notes.map((text) => make("div", { class: "note", text }));
  root.append(make("style", { text: CSS }), grid, bar, key, fit, value, ...notes);
  grid.append(make("span", { class: "head", text: "amount · share" }), make("span", { class: "head", text: `sources against ${facts.label}` }),
    make("span", { class: "head", text: facts.image ? "maps of amounts" : "amounts" }));

  const nearest = (wanted) => {  // of the measurements in this view
    let best = 0;
    for (let k = 1; k < m; k++) if (Math.abs(rows[k] - wanted) < Math.abs(rows[best] - wanted)) best = k;
    return best;
  };
  const chosen = () => nearest(model.get("measurement"));
  const choose = (k) => {
    model.set("measurement", rows[Math.max(0, Math.min(m - 1, k))]);
    model.save_changes();
  };
  const highlight = (i) => {
    model.set("source", model.get("source") === i ? null : i);
    model.save_changes();
  };
  const onKeys = (across, down, go) => (event) => {
    const step = { ArrowLeft: -across, ArrowRight: across, ArrowUp: -down, ArrowDown: down }[event.key];
    if (step) { event.preventDefault(); event.stopPropagation(); go(step); }
  };

  const lines = [];
  for (let i = 0; i < r; i++) {
    const colour = facts.colours[i % facts.colours.length], small = make("small");
    const name = make("button", { class: "name", "aria-pressed": "false", style: `border-left-color:${colour}` },
      `source ${i + 1}`, small);
    const spectrum = make("div", { style: "cursor:pointer" });
    const amounts = make("div", { tabindex: 0, class: facts.image ? "map" : "amounts", style: "cursor:pointer",
      role: "img", "aria-label": `amounts of source ${i + 1}: arrow keys choose a measurement` });
    name.onclick = spectrum.onclick = () => highlight(i);
    amounts.onclick = (event) => {
      const box = amounts.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
      if (!facts.image) return choose(Math.floor((x * box.width - LEFT) / (box.width - LEFT - RIGHT) * m));
      const [height, width] = facts.image;
      return choose(Math.min(height - 1, Math.floor(y * height)) * width + Math.min(width - 1, Math.floor(x * width)));
    };
    amounts.onkeydown = onKeys(1, facts.image ? facts.image[1] : 1, (step) => choose(chosen() + step));
    grid.append(name, spectrum, amounts);
    lines.push({ i, colour, small, name, spectrum, amounts });
  }
  back.onclick = () => choose(chosen() - 1);
  next.onclick = () => choose(chosen() + 1);
  field.onchange = () => {
    if (field.value !== "" && Number.isFinite(+field.value)) choose(nearest(field.value - 1));
    mark();
  };
  for (const one of [field, root]) one.addEventListener("keydown", (event) => event.stopPropagation());

  function drawn(box, height, label) {
    const width = Math.max(box.clientWidth, LEFT + RIGHT + 20);
    const picture = make("svg", { height, viewBox: `0 0 ${width} ${height}`, "aria-label": label });
    box.replaceChildren(picture);
    return [picture, width - LEFT - RIGHT];
  }
  const scale = (picture, [low, high], top, height, width) => {
    for (const tick of ticks(low, high, height > 60 ? 4 : 3)) {
      const y = top + height * (1 - (tick - low) / (high - low));
      picture.append(make("line", { x1: LEFT, x2: LEFT + width, y1: y, y2: y, stroke: "currentColor", opacity: 0.12 }),
        make("text", { x: LEFT - 4, y: y + 3, "text-anchor": "end", text: short(tick) }));
    }
  };
  const stroke = (picture, d, colour, width = 1.2, about = {}) =>
    picture.append(make("path", { d, fill: "none", stroke: colour, "stroke-width": width, ...about }));

  function drawSources() {
    for (const { i, colour, spectrum, amounts } of lines) {
      const source = own.S.subarray(i * n, (i + 1) * n), high = ends([source]);
      const [picture, width] = drawn(spectrum, HEIGHT, `spectrum of source ${i + 1}`);
      scale(picture, high, 4, HEIGHT - 8, width);
      stroke(picture, path(source, own.places, high, width, 4, HEIGHT - 8), colour);
      const column = Float64Array.from({ length: m }, (_, k) => own.A[k * r + i]);
      if (facts.image) drawMap(amounts, column, colour); else drawAmounts(amounts, column, colour, i);
    }
  }

  function drawAmounts(box, column, colour, i) {
    const [picture, width] = drawn(box, HEIGHT, `amounts of source ${i + 1}`), [low, high] = ends([column]);
    scale(picture, [low, high], 4, HEIGHT - 8, width);
    const places = column.map((_, k) => (k + 0.5) / m), y = (at) => 4 + (HEIGHT - 8) * (1 - (at - low) / (high - low));
    if (m > 80) stroke(picture, path(column, places, [low, high], width, 4, HEIGHT - 8), colour);
    else {
      column.forEach((at, k) => picture.append(make("rect", { x: LEFT + (k + 0.1) / m * width, width: 0.8 / m * width,
        y: Math.min(y(at), y(0)), height: Math.abs(y(at) - y(0)), fill: colour })));
    }
    picture.append(make("line", { class: "here", y1: 0, y2: HEIGHT, stroke: "currentColor", "stroke-width": 1.5 }));
    picture.dataset.width = width;
  }

  function drawMap(box, column, colour) {
    const [height, width] = facts.image, [low, high] = ends([column]);
    const canvas = make("canvas", { width, height });
    const across = Math.min(box.parentElement.clientWidth * 0.28, 110 * Math.max(width / height, 0.3), 240);
    canvas.style.cssText = `width:${across}px;height:${Math.max(6, across * height / width)}px`;
    const pen = canvas.getContext("2d"), image = pen.createImageData(width, height);
    const [red, green, blue] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
    column.forEach((at, k) => image.data.set([red, green, blue, 255 * (at - low) / (high - low)], 4 * k));
    pen.putImageData(image, 0, 0);
    box.replaceChildren(canvas, make("i"));
  }

  function drawFit() {
    const k = chosen(), picked = model.get("source"), data = own.measured(k);
    const parts = lines.map(({ i }) => own.part(k, i)), smooth = own.q ? own.part(k, -1) : null;
    const total = new Float64Array(n);
    for (const one of smooth ? [...parts, smooth] : parts) for (let c = 0; c < n; c++) total[c] += one[c];
    const rest = data.map((at, c) => at - total[c]);
    own.now = { data, total, rest };
    const [picture, width] = drawn(fit, 268, `measurement ${rows[k] + 1} with its fit, and the residual below`);
    const high = ends([data, total]), low = ends([rest]);
    scale(picture, high, 6, 150, width);
    scale(picture, low, 172, 66, width);
    lines.forEach(({ i, colour }) => stroke(picture, path(parts[i], own.places, high, width, 6, 150), colour,
      picked === i ? 2.5 : 1, { class: picked === null || picked === undefined || picked === i ? "" : "faint" }));
    if (smooth) stroke(picture, path(smooth, own.places, high, width, 6, 150), "currentColor", 1, { "stroke-dasharray": "4 3" });
    stroke(picture, path(data, own.places, high, width, 6, 150), MEASURED, 1.2, { class: "measured" });
    stroke(picture, path(total, own.places, high, width, 6, 150), FIT, 1.4, { class: "total" });
    stroke(picture, path(rest, own.places, low, width, 172, 66), "currentColor", 0.9, { class: "rest" });
    const [from, to] = [own.axis[0], own.axis[n - 1]];
    for (const tick of n > 1 ? ticks(Math.min(from, to), Math.max(from, to), Math.max(2, width / 90)) : [from]) {
      const x = LEFT + width * (n > 1 ? (tick - from) / (to - from) : 0.5);
      picture.append(make("text", { x, y: 252, "text-anchor": "middle", text: short(tick) }));
    }
    picture.append(make("text", { x: LEFT + width / 2, y: 265, "text-anchor": "middle", text: facts.label }),
      make("text", { x: LEFT + 4, y: 170, text: "residual" }),
      make("line", { class: "cursor", y1: 6, y2: 238, stroke: "currentColor", opacity: 0.5 }));
    own.width = width;
    const entries = [["measured", MEASURED], ["fit", FIT], ...(smooth ? [["background (dashed)", "currentColor"]] : [])];
    key.replaceChildren(...entries.map(([text, colour]) => make("span", { class: "key", text, style: `--ink:${colour}` })));
    moved(cursor);
  }

  function moved(to) {
    cursor = Math.min(n - 1, to);
    const line = fit.querySelector(".cursor");
    line.style.display = cursor < 0 ? "none" : "";
    if (cursor < 0) { value.textContent = ""; return; }
    const x = LEFT + own.width * own.places[cursor], { data, total, rest } = own.now;
    line.setAttribute("x1", x); line.setAttribute("x2", x);
    value.textContent = `${facts.label} ${short(own.axis[cursor])}: measured ${short(data[cursor])}, ` +
      `fit ${short(total[cursor])}, residual ${short(rest[cursor])}`;
  }
  fit.onpointermove = (event) => {
    const place = (event.clientX - fit.getBoundingClientRect().left - LEFT) / own.width;
    let best = 0;
    for (let c = 1; c < n; c++) if (Math.abs(own.places[c] - place) < Math.abs(own.places[best] - place)) best = c;
    moved(best);
  };
  fit.onkeydown = onKeys(1, 10, (step) => moved(Math.max(0, cursor + step)));

  function mark() {  // the chosen measurement and source, without drawing the sources again
    const k = chosen(), picked = model.get("source"), some = picked !== null && picked !== undefined;
    for (const { i, small, name, spectrum, amounts } of lines) {
      name.setAttribute("aria-pressed", String(picked === i));
      for (const box of [name, spectrum, amounts]) box.classList.toggle("faint", some && picked !== i);
      small.textContent = `${short(own.A[k * r + i], 3)} · ${short(100 * own.shares[k * r + i], 3)} %`;
      if (facts.image) {
        const [height, width] = facts.image, frame = amounts.querySelector("i");
        const x = 100 * (k % width) / width, y = 100 * Math.floor(k / width) / height;
        const size = `width:${100 / width}%;height:${100 / height}%;min-width:6px;min-height:6px`;
        frame.style.cssText = `left:${x}%;top:${y}%;${size}`;
      } else {
        const picture = amounts.firstChild, x = LEFT + (k + 0.5) / m * picture.dataset.width;
        for (const end of ["x1", "x2"]) picture.querySelector(".here").setAttribute(end, x);
      }
    }
    drawFit();
    let sum = 0, count = 0;
    for (const one of own.now.rest) if (Number.isFinite(one)) { sum += one * one; count++; }
    const number = rows[k] + 1, named = facts.names.length && facts.names[k] !== String(number);
    const place = facts.image
      ? `, row ${Math.floor(rows[k] / facts.columns) + 1}, column ${rows[k] % facts.columns + 1}` : "";
    field.value = number;
    told.textContent = `${named ? facts.names[k] : `number ${number}`}${place}: ` +
      `residual ${short(Math.sqrt(sum / count))} (root mean square), noise ${short(own.noise[k])}`;
  }

  const draw = () => { drawSources(); mark(); };
  const watcher = new ResizeObserver(() => { if (root.clientWidth) draw(); });
  el.replaceChildren(root);
  watcher.observe(root);
  model.on("change:measurement", mark);
  model.on("change:source", mark);
  return () => { watcher.disconnect(); model.off("change:measurement", mark); model.off("change:source", mark); };
}

export default { render };
