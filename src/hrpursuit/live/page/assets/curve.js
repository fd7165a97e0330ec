"use strict";
// One sensor over time, and the bytes of each slot.
const LEFT = 46; // pixels for the numbers at the side

function axis(context, low, high, height, width, place) {
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    const y = place(value);
    context.fillStyle = cssColour("--line");
    context.fillRect(LEFT, y, width - LEFT, 1);
    context.fillStyle = cssColour("--faint");
    context.fillText(text(value), LEFT - 6, Math.min(Math.max(y, 7), height - 7));
  }
}

function drawCurve() {
  const sensor = shown.columns.indexOf(shown.sensor);
  const { context, width, height } = sized(byId("curve"));
  if (sensor < 0) return;
  const line = timeline(), n = line.places.length;
  const bound = shown.bound ? shown.bound[sensor] : null;
  const at = (slot, name) => (slot !== null && slot[name] ? slot[name][sensor] : null);
  const seen = line.places.flatMap((slot) => [at(slot, "v"), at(slot, "r")]).filter((value) => value !== null);
  const reach = bound || 0;
  let low = Math.min(...seen) - reach, high = Math.max(...seen) + reach;
  if (!seen.length) [low, high] = [0, 1];
  const margin = 0.06 * (high - low) || 1;
  [low, high] = [low - margin, high + margin];
  const x = (i) => LEFT + ((i + 0.5) / n) * (width - LEFT);
  const y = (value) => height - 1 - ((value - low) / (high - low)) * (height - 2);
  axis(context, low, high, height, width, y);
  const runs = [];
  for (let i = 0; i < n; i++) {
    const value = at(line.places[i], "v");
    if (value === null) continue;
    if (i && runs.length && at(line.places[i - 1], "v") !== null) runs[runs.length - 1].push([i, value]);
    else runs.push([[i, value]]);
  }
  const half = (width - LEFT) / n / 2;
  for (const run of runs) {
    const ends = [[run[0][0] - 0.4, run[0][1]], ...run, [run[run.length - 1][0] + 0.4, run[run.length - 1][1]]];
    if (reach) {
      context.fillStyle = cssColour("--band");
      context.beginPath();
      ends.forEach(([i, value]) => context.lineTo(x(i), y(value + reach)));
      ends.reverse().forEach(([i, value]) => context.lineTo(x(i), y(value - reach)));
      context.fill();
    }
    context.strokeStyle = cssColour("--rebuilt");
    context.lineWidth = 1.6;
    context.beginPath();
    ends.forEach(([i, value]) => context.lineTo(x(i), y(value)));
    context.stroke();
  }
  let worst = null;
  context.fillStyle = cssColour("--true");
  line.places.forEach((slot, i) => {
    const value = at(slot, "r"), rebuilt = at(slot, "v");
    if (value === null) return;
    context.beginPath();
    context.arc(x(i), y(value), Math.min(2.4, Math.max(1.2, 0.8 * half)), 0, 7);
    context.fill();
    if (rebuilt !== null) worst = Math.max(worst || 0, Math.abs(value - rebuilt));
  });
  byId("legend-true").hidden = worst === null;
  byId("legend-band").hidden = !reach;
  const last = at(shown.slots[shown.slots.length - 1] || null, "v");
  const said = [`now ${last === null ? "no reading" : text(last, 5)}`];
  if (bound !== null) said.push(bound === 0 ? "without loss" : `bound ±${text(bound)}`);
  if (worst !== null) said.push(`largest error shown ${text(worst)}`);
  byId("curve-text").textContent = said.join(" · ");
  drawTicks("curve-ticks", line, LEFT, width);
}

function drawBytes() {
  const { context, width, height } = sized(byId("bytes"));
  const line = timeline(), n = line.places.length, figures = shown.figures || {};
  const found = line.places.filter((slot) => slot !== null).map((slot) => slot.b);
  const others = [["json_per_slot", "--json"], ["float32_per_slot", "--float32"]].filter(([name]) => figures[name]);
  const high = Math.log10(Math.max(10, ...found, ...others.map(([name]) => figures[name]))) + 0.08;
  const low = Math.log10(Math.max(0.8, Math.min(...found, 10) / 2));
  const y = (value) => height - ((Math.log10(value) - low) / (high - low)) * height;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]) {
    const wide = high - low > 2.2 && !/^10*$/.test(String(value));
    if (wide || Math.log10(value) < low || Math.log10(value) > high) continue;
    context.fillStyle = cssColour("--line");
    context.fillRect(LEFT, y(value), width - LEFT, 1);
    context.fillStyle = cssColour("--faint");
    context.fillText(value.toLocaleString("en"), LEFT - 6, Math.min(Math.max(y(value), 7), height - 7));
  }
  context.fillStyle = cssColour("--bar");
  const each = (width - LEFT) / n;
  line.places.forEach((slot, i) => {
    if (slot !== null) context.fillRect(LEFT + i * each, y(Math.max(slot.b, 1)), Math.max(each - (each > 3 ? 1 : 0), 1), height);
  });
  for (const [name, colour] of others) {
    context.fillStyle = cssColour(colour);
    context.fillRect(LEFT, y(figures[name]) - 1, width - LEFT, 2);
  }
}
