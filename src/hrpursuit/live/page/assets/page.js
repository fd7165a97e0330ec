"use strict";
// Takes what the server sends, and has it drawn; connects again by itself when the server was away.
const SILENCE = 5000; // milliseconds without a word after which the connection counts as lost
let source = null, heard = 0, asked = false;

function setState(on, words) {
  byId("light").className = on ? "on" : "";
  byId("state").textContent = words;
}

function connect() {
  if (source) source.close();
  heard = Date.now();
  source = new EventSource("events");
  source.addEventListener("snapshot", (event) => take(JSON.parse(event.data), true));
  source.addEventListener("update", (event) => take(JSON.parse(event.data), false));
  source.onerror = () => setState(false, "the server is away: trying again");
}

function take(news, isAll) {
  heard = Date.now();
  if (isAll) {
    shown.slots = [];
    shown.events = [];
    for (const name of ["columns", "bound", "atoms", "most"]) shown[name] = news[name];
    byId("title").textContent = news.title;
    fillSensors();
  }
  shown.slots.push(...news.slots);
  shown.slots.splice(0, Math.max(0, shown.slots.length - shown.most));
  shown.events.push(...news.events);
  shown.events.splice(0, Math.max(0, shown.events.length - 60));
  shown.figures = news.figures;
  setState(news.figures.connected > 0, news.figures.connected > 0 ? "live" : "no connection to the broker");
  if (isAll || news.events.length) drawEvents();
  if (!asked) {
    asked = true;
    requestAnimationFrame(draw);
  }
}

function draw() {
  asked = false;
  drawFigures(shown.figures);
  drawMap();
  drawCurve();
  drawBytes();
  drawAtoms();
  document.documentElement.dataset.slots = shown.slots.length;
}

/** The sensor that was chosen stays; the first choice is the one with the most readings. */
function fillSensors() {
  const select = byId("sensor");
  select.replaceChildren(...[...shown.columns].sort().map((name) => new Option(name, name)));
  if (!shown.columns.includes(shown.sensor)) shown.sensor = shown.columns[0] || null;
  select.value = shown.sensor;
}

function drawFigures(figures) {
  const put = (id, words) => { byId(id).textContent = words; };
  const number = (value) => Math.round(value).toLocaleString("en");
  put("now", figures.time === null ? "" : new Date(figures.time).toISOString().slice(0, 19).replace("T", " ") + " UTC");
  put("slots", number(figures.slots));
  put("sensors", `of ${number(figures.sensors)} sensors`);
  put("lost", number(figures.lost));
  put("keyframes", `${number(figures.keyframes)} ${figures.keyframes === 1 ? "keyframe" : "keyframes"}`);
  put("total", bytes(figures.bytes));
  put("total-json", `JSON: ${bytes(figures.json)}, float32: ${bytes(figures.float32)}`);
  if (figures.bytes_per_slot !== null) {
    put("per-slot", text(figures.bytes_per_slot));
    put("per-slot-ratio", `float32 takes ${text(figures.float32_per_slot / figures.bytes_per_slot, 2)} times as much`);
    put("float32", number(figures.float32_per_slot));
    put("json", `and ${number(figures.json_per_slot)} as JSON`);
  }
  if (figures.delay !== null) {
    put("delay", seconds(figures.delay));
    put("delay-99", `99% within ${seconds(figures.delay_99)}`);
  }
}

function drawEvents() {
  byId("events").replaceChildren(...[...shown.events].reverse().map((one) => {
    const item = document.createElement("li"), when = document.createElement("time");
    if (one.level >= 30) item.className = "warning";
    when.textContent = new Date(one.t).toISOString().slice(5, 16).replace("T", " ");
    item.append(when, `${one.role}: ${one.text}`);
    return item;
  }));
}

byId("sensor").addEventListener("change", (event) => {
  shown.sensor = event.target.value;
  draw();
});
byId("map").addEventListener("click", (event) => {
  const row = Math.floor((event.offsetY / byId("map").clientHeight) * shown.columns.length);
  if (row < 0 || row >= shown.columns.length) return;
  shown.sensor = byId("sensor").value = shown.columns[row];
  draw();
});
window.addEventListener("resize", () => shown.figures && draw());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown.figures && draw());
setInterval(() => {
  if (Date.now() - heard > SILENCE || source.readyState === EventSource.CLOSED) connect();
}, 1000);
connect();
