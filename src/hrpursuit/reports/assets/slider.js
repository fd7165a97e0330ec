// The slider, the figures, and when what is drawn.
const slider = byId("target");
const maps = { readings: byId("map-readings"), restored: byId("map-restored"), residual: byId("map-residual") };
const boxes = {};
let cut = null;

function tellTable() {
  const { nRows, nColumns, nObserved, gaps, first, last, picture } = study;
  const range = study.hasTimes ? `, ${first} to ${last}` : "";
  byId("lead").textContent = `${grouped(nRows)} time steps of ${grouped(nColumns)} sensor${nColumns > 1 ? "s" : ""}${range}: ${grouped(nObserved)} readings; ${percent(gaps)} of the cells are gaps. As CSV text ${grouped(study.csv)} bytes, in xz ${grouped(study.xz)}.`;
  const thin = [];
  if (picture.everyRow > 1) thin.push(`every ${ordinal(picture.everyRow)} time step`);
  if (picture.everyColumn > 1) thin.push(`every ${ordinal(picture.everyColumn)} sensor`);
  byId("maps-note").textContent = `Time runs to the right, one line a sensor. ${thin.length ? `The table is large: these pictures show ${thin.join(" and ")}; all figures count every reading. ` : ""}Point at a cell to read it.`;
  byId("curves-note").textContent = "Every method stores the whole table, gaps included, and is judged by what comes back. The ring is the target that the slider has chosen.";
  byId("notes-section").hidden = !study.notes.length;
  byId("notes").replaceChildren(...study.notes.map((note) => html("li", {}, note)));
}

function tellSetting(chosen) {
  const at = study.settings[chosen];
  const figures = [
    ["bytes", grouped(at.bytes)],
    ["times smaller than CSV", threeDigits(study.csv / at.bytes)],
    ["times smaller than CSV in xz", threeDigits(study.xz / at.bytes)],
    ["relative RMSE, measured", study.nObserved ? percent(at.rmse) : "–"],
    ["largest error, measured", study.nObserved ? threeDigits(at.maxError) : "–"],
    ["bits a reading", at.bits === null ? "–" : threeDigits(at.bits)],
  ];
  byId("figures").replaceChildren(...figures.map(([name, text]) => html("div", {}, html("dt", {}, name), html("dd", {}, text))));
  byId("target-text").textContent = at.text;
  slider.setAttribute("aria-valuetext", `${at.text}: ${grouped(at.bytes)} bytes`);
  byId("short").textContent = `${grouped(at.bytes)} bytes${study.nObserved ? ` · RMSE ${percent(at.rmse)} · largest error ${threeDigits(at.maxError)}` : ""}`;
  byId("restored-note").textContent = `from ${grouped(at.bytes)} bytes`;
  markStop(chosen);
}

/** Names of the stops of the slider: the chosen one, and those that have room beside each other. */
function markStop(chosen) {
  const stops = [...byId("stops").children];
  stops.forEach((stop, i) => stop.classList.toggle("on", i === chosen));
  const places = stops.map((stop) => stop.getBoundingClientRect());
  const taken = [places[chosen]];
  stops.forEach((stop, i) => {
    const isFree = taken.every((other) => places[i].right + 3 < other.left || places[i].left - 3 > other.right);
    if (isFree) taken.push(places[i]);
    stop.style.visibility = isFree || i === chosen ? "visible" : "hidden";
  });
}

function drawMaps(chosen) {
  const { low, high, residual } = study.scale;
  const colours = makeColours();
  const level = (cell) => (cell * study.step - low) / (high - low);
  const lost = cut.residuals[chosen];
  const restored = cut.readings.map((cell, i) => (cell === GAP ? GAP : cell - lost[i]));
  boxes.readings = drawMap(maps.readings, paint(cut.readings, colours.readings, colours.gap, level));
  boxes.restored = drawMap(maps.restored, paint(restored, colours.readings, colours.gap, level));
  const place = (cell) => 0.5 + (0.5 * cell * study.step) / residual;
  boxes.residual = drawMap(maps.residual, paint(lost, colours.errors, colours.gap, place));
  drawScale("scale-readings", READINGS, threeDigits(low), threeDigits(high));
  drawScale("scale-restored", READINGS, threeDigits(low), threeDigits(high));
  drawScale("scale-residual", colours.errorStops, `given back too high: −${threeDigits(residual)}`, `too low: ${threeDigits(residual)}`);
  const at = study.settings[chosen];
  maps.readings.setAttribute("aria-label", `Heat map of the readings, ${percent(study.gaps)} gaps`);
  maps.restored.setAttribute("aria-label", `Heat map of what the file of ${grouped(at.bytes)} bytes gives back`);
  maps.residual.setAttribute("aria-label", `Heat map of the errors, at most ${threeDigits(at.maxError)}`);
}

function tellCell(step, sensor) {
  const i = step * nShown + sensor;
  const where = `${study.names[study.picture.columns[sensor]]}, ${study.picture.labels[step]}`;
  if (cut.readings[i] === GAP) return `${where}\ngap: no reading`;
  const [reading, lost] = [cut.readings[i] * study.step, cut.residuals[slider.valueAsNumber][i] * study.step];
  return `${where}\nreading ${inUnit(reading)}\ngiven back ${inUnit(reading - lost)}\ndifference ${inUnit(lost)}`;
}

function drawAll() {
  if (byId("curves").clientWidth < 100) return; // no room, as in a window that is being made; `resize` calls again
  const chosen = slider.valueAsNumber;
  tellSetting(chosen);
  drawMaps(chosen);
  drawCurves(chosen);
  drawSensors(chosen);
  drawHours(chosen, cut.hours);
  document.documentElement.dataset.ready = "true";
}

/** At most once a frame, whatever calls. */
let isAsked = false;
function ask() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    drawAll();
  });
}

function makeSlider() {
  const n = study.settings.length;
  slider.max = n - 1;
  slider.value = Math.floor(n / 2);
  slider.disabled = n < 2;
  byId("stops").replaceChildren(...study.settings.map((setting, i) => {
    const stop = html("span", {}, setting.short);
    const place = n > 1 ? (100 * i) / (n - 1) : 0;
    stop.style.left = `${place}%`;
    stop.style.transform = `translateX(-${place}%)`; // the first begins at its place, the last ends there
    stop.addEventListener("click", () => {
      slider.value = i;
      ask();
    });
    return stop;
  }));
  slider.addEventListener("input", ask);
}

async function start() {
  tellTable();
  makeSlider();
  cut = cutCells(await unpackCells());
  drawLegend();
  drawAtoms();
  for (const name of Object.keys(maps)) watchMap(maps[name], () => boxes[name], tellCell);
  for (const [id, isByError] of [["sort-error", true], ["sort-table", false]]) {
    byId(id).addEventListener("click", () => {
      byError = isByError;
      drawSensors(slider.valueAsNumber);
    });
  }
  byId("sensors-more").addEventListener("click", () => {
    allBars = !allBars;
    drawSensors(slider.valueAsNumber);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) ask(); // a phone's address bar changes the height only
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
  addEventListener("scroll", hideTip, { passive: true });
  drawAll();
}

start().catch((error) => {
  byId("problem").hidden = false;
  byId("problem").textContent = `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
});
