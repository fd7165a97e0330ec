// What is embedded in the page, and small helpers for all parts of it.
const study = JSON.parse(document.getElementById("study").textContent);
const GAP = -32768;
const byId = (id) => document.getElementById(id);
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const grouped = (number) => number.toLocaleString("en");

/** A number as text; very large and very small ones with a power of ten. */
function written(value, options) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(2).replace("-", "−").replace("e+", "e");
  return value.toLocaleString("en", options).replace("-", "−");
}

/** Text of a reading or an error, with as many decimals as the readings have. */
function inUnit(value) {
  return written(value, study.decimals > 3 ? { maximumSignificantDigits: 6 } : { maximumFractionDigits: study.decimals });
}

/** Text of a mean error: three digits, zeros at the end too. */
function mean(value) {
  return value === 0 ? "0" : written(value, { maximumSignificantDigits: 3, minimumSignificantDigits: 3 });
}

/** At most three digits. */
function threeDigits(value) {
  return written(value, { maximumSignificantDigits: 3 });
}

/** 2nd, 3rd, 4th, ... */
function ordinal(n) {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[n % 10];
  return `${n}${ending && Math.floor((n % 100) / 10) !== 1 ? ending : "th"}`;
}

function percent(share) {
  return share === 0 ? "0%" : `${threeDigits(100 * share)}%`;
}

function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** All cells as 16-bit integers: little-endian, deflated, base64. */
async function unpackCells() {
  const packed = Uint8Array.from(atob(byId("cells").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const view = new DataView(bytes);
  const cells = new Int16Array(bytes.byteLength / 2);
  for (let i = 0; i < cells.length; i++) cells[i] = view.getInt16(2 * i, true);
  return cells;
}

/** Cut the cells into readings, one residual a setting, and the readings and reconstruction of the worst hours. */
function cutCells(cells) {
  const size = study.picture.labels.length * study.picture.columns.length;
  let at = 0;
  const next = (n) => cells.subarray(at, (at += n));
  const readings = next(size);
  const residuals = study.settings.map(() => next(size));
  const hours = study.settings.map((setting) => setting.hours.map((hour) => ({
    across: [next(study.picture.columns.length), next(study.picture.columns.length)],
    around: [next(hour.nAround), next(hour.nAround)],
  })));
  return { readings, residuals, hours };
}

const tip = byId("tip");

function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 14 + width > innerWidth ? event.clientX - width - 14 : event.clientX + 14;
  const y = event.clientY + 14 + height > innerHeight ? event.clientY - height - 14 : event.clientY + 14;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

function hideTip() {
  tip.hidden = true;
}
