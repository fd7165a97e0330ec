"use strict";
// What all parts of the page share: what has come so far, and small helpers.
const shown = { columns: [], slots: [], events: [], bound: null, atoms: null, most: 480, sensor: null };
const byId = (id) => document.getElementById(id);
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const READINGS = ["#00224e", "#17376d", "#41506b", "#61666f", "#7f7d78", "#a09776", "#c2b26b", "#e3ce53", "#fee838"];

function parts(hex) {
  const full = hex.length === 4 ? `#${[...hex.slice(1)].map((c) => c + c).join("")}` : hex;
  return [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
}

/** The colour at this place, from 0 to 1, between evenly spaced ones. */
function between(stops, place) {
  const at = Math.min(Math.max(place, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((from, i) => Math.round(from + (at - k) * (stops[k + 1][i] - from)));
}

/** A canvas made as large as it is shown, in pixels of the screen; drawn on in the units of the page. */
function sized(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

function text(value, digits = 3) {
  return (Math.abs(value) < 1e-12 ? 0 : value).toLocaleString("en", { maximumSignificantDigits: digits }).replace("-", "−");
}

function bytes(value) {
  if (value < 1e4) return `${Math.round(value).toLocaleString("en")} B`;
  return value < 1e7 ? `${text(value / 1e3)} kB` : `${text(value / 1e6)} MB`;
}

function seconds(value) {
  return value < 0.995 ? `${text(1000 * value, 2)} ms` : `${text(value, 3)} s`;
}

/** Milliseconds from one slot to the next: the commonest difference. */
function period() {
  const count = new Map();
  for (let i = 1; i < shown.slots.length; i++) {
    const step = shown.slots[i].t - shown.slots[i - 1].t;
    if (step > 0) count.set(step, (count.get(step) || 0) + 1);
  }
  let best = 1000, most = 0;
  for (const [step, n] of count) if (n > most) [best, most] = [step, n];
  return best;
}

/** Slots by their place in time, the last one at the right; a place without one is a slot that never came. */
function timeline() {
  const step = period(), slots = shown.slots;
  const end = slots.length ? slots[slots.length - 1].t : 0;
  const wanted = Math.max(60, Math.min(shown.most, Math.round((end - (slots[0] ? slots[0].t : 0)) / step) + 1));
  const places = new Array(wanted).fill(null);
  for (const slot of slots) {
    const at = wanted - 1 - Math.round((end - slot.t) / step);
    if (at >= 0 && at < wanted) places[at] = slot;
  }
  const first = slots.length ? places.findIndex((slot) => slot !== null) : wanted;
  return { places, step, end, first };
}

/** Hours or days under a picture, between these edges in pixels. */
function drawTicks(id, line, left, right) {
  const n = line.places.length, width = right - left;
  const room = Math.max(2, Math.floor(width / 110));
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000,
    864000, 2592000].map((s) => 1000 * s);
  const every = steps.find((s) => (n * line.step) / s <= room) || steps[steps.length - 1];
  const format = every >= 86400000 ? { month: "short", day: "numeric" }
    : every >= 60000 ? { hour: "2-digit", minute: "2-digit", ...(n * line.step > 86400000 ? { day: "numeric", month: "short" } : {}) }
      : { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const marks = [];
  const start = line.end - (n - 1) * line.step;
  for (let t = Math.ceil(start / every) * every; t <= line.end; t += every) {
    const x = left + (((t - start) / line.step + 0.5) / n) * width;
    if (x < left + 35 || x > right - 35) continue;
    const mark = document.createElement("span");
    mark.textContent = new Date(t).toLocaleString("en-GB", { ...format, hour12: false, timeZone: "UTC" });
    mark.style.left = `${x}px`;
    marks.push(mark);
  }
  byId(id).replaceChildren(...marks);
}
