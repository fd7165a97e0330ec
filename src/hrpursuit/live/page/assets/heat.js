"use strict";
// The last slots of all sensors as a picture that moves on, and the atoms.
const range = { low: 0, high: 1 };

/** Colours reach from the 1% to the 99% quantile; they change only when these have moved by a tenth. */
function fitRange() {
  const values = [];
  for (const slot of shown.slots) for (const value of slot.v) if (value !== null) values.push(value);
  if (!values.length) return;
  values.sort((a, b) => a - b);
  const low = values[Math.floor(0.01 * (values.length - 1))], high = values[Math.floor(0.99 * (values.length - 1))];
  const width = Math.max(high - low, 1e-9);
  if (Math.abs(low - range.low) + Math.abs(high - range.high) > 0.1 * width) Object.assign(range, { low, high: low + width });
}

function drawMap() {
  const line = timeline(), n = line.places.length, rows = shown.columns.length;
  const { context, width, height } = sized(byId("map"));
  if (!rows) return;
  fitRange();
  const stops = READINGS.map(parts), gap = parts(cssColour("--gap")), lost = parts(cssColour("--lost"));
  const empty = parts(cssColour("--neutral"));
  const image = new ImageData(n, rows);
  const span = range.high - range.low;
  for (let x = 0; x < n; x++) {
    const slot = line.places[x];
    for (let y = 0; y < rows; y++) {
      const value = slot === null ? null : slot.v[y];
      const colour = slot === null ? (x < line.first ? empty : lost) : value === null ? gap : between(stops, (value - range.low) / span);
      image.data.set([...colour, 255], 4 * (y * n + x));
    }
  }
  const small = document.createElement("canvas");
  small.width = n;
  small.height = rows;
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, width, height);
  const chosen = shown.columns.indexOf(shown.sensor);
  if (chosen >= 0) {
    context.strokeStyle = cssColour("--rebuilt");
    context.lineWidth = 2;
    context.strokeRect(1, (chosen / rows) * height, width - 2, Math.max(height / rows, 3));
  }
  drawTicks("map-ticks", line, 0, width);
  drawScale(stops);
}

function drawScale(stops) {
  const scale = byId("scale");
  if (!scale.firstChild) {
    const low = document.createElement("span"), strip = document.createElement("canvas"), high = document.createElement("span");
    const named = (name, words) => {
      const entry = document.createElement("span"), patch = document.createElement("i");
      entry.className = "entry";
      patch.className = name;
      entry.append(patch, words);
      return entry;
    };
    scale.append(low, strip, high, named("gap", "no reading"), named("lost", "not received"));
    strip.width = 100;
    strip.height = 1;
    const pen = strip.getContext("2d");
    for (let x = 0; x < 100; x++) {
      pen.fillStyle = `rgb(${between(stops, x / 99).join(",")})`;
      pen.fillRect(x, 0, 1, 1);
    }
  }
  scale.children[0].textContent = text(range.low);
  scale.children[2].textContent = text(range.high);
}

function drawAtoms() {
  const atoms = shown.atoms;
  byId("atoms").hidden = !atoms;
  if (!atoms) return;
  const { context, width, height } = sized(byId("atom-map"));
  const stops = ["--below", "--neutral", "--above"].map((name) => parts(cssColour(name)));
  const most = Math.max(...atoms.flat().map((value) => Math.abs(value || 0)), 1e-9);
  const image = new ImageData(atoms[0].length, atoms.length);
  atoms.forEach((atom, y) => atom.forEach((value, x) => {
    image.data.set([...between(stops, 0.5 + (value || 0) / (2 * most)), 255], 4 * (y * atom.length + x));
  }));
  const small = document.createElement("canvas");
  small.width = image.width;
  small.height = image.height;
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, width, height);
}
