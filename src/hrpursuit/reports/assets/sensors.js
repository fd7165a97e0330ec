// Errors of the sensors as bars, and the atoms as small bars over the sensors.
const MOST_BARS = 90;
let byError = true;
let allBars = false;

function drawSensors(chosen) {
  const setting = study.settings[chosen];
  const { sensorRms, sensorMax } = setting;
  const order = study.names.map((_, i) => i);
  if (byError) order.sort((a, b) => study.reports[b] - study.reports[a] || sensorRms[b] - sensorRms[a] || a - b);
  const longest = Math.max(...sensorMax) || 1;
  const shown = allBars ? order : order.slice(0, MOST_BARS);
  byId("sensors").style.setProperty("--name", `${Math.min(12, Math.max(...study.names.map((name) => name.length))) + 1}ch`);
  byId("sensors").replaceChildren(...shown.map((i) => bar(i, setting, longest)));
  const more = byId("sensors-more");
  more.hidden = order.length <= MOST_BARS;
  more.textContent = allBars ? `show ${MOST_BARS}` : `show all ${order.length}`;
  byId("sort-error").setAttribute("aria-pressed", byError);
  byId("sort-table").setAttribute("aria-pressed", !byError);
  byId("sensors-note").textContent = sensorsNote(setting);
}

function sensorsNote(setting) {
  const silent = study.reports.filter((does) => !does).length;
  const none = silent ? ` ${silent} of ${study.nColumns} sensors never report.` : "";
  if (silent === study.nColumns) return "No sensor has a reading.";
  if (setting.maxError === 0) return `Every reading comes back exactly.${none}`;
  const worst = setting.sensorRms.indexOf(Math.max(...setting.sensorRms));
  return `Bars are root mean square errors in the unit of the readings, marks the largest error of each sensor. Worst: ${study.names[worst]} with ${mean(setting.sensorRms[worst])}.${none}`;
}

/** The bound of a sensor where each has its own. */
function boundText(setting, i) {
  const bound = setting.bounds && setting.bounds[i];
  if (bound === null) return "";
  return bound === 0 ? ", lossless" : ` of ±${threeDigits(bound)}`;
}

function bar(i, setting, longest) {
  const [rms, largest] = [setting.sensorRms[i], setting.sensorMax[i]];
  const name = html("span", { class: "name", title: study.names[i] }, study.names[i]);
  if (!study.reports[i]) {
    return html("li", { class: "none" }, name, html("span", { class: "bar" }), html("span", { class: "figure" }, "no readings"));
  }
  const fill = html("i");
  fill.style.width = `${(100 * rms) / longest}%`;
  const end = html("u");
  end.style.left = `calc(${(100 * largest) / longest}% - 1px)`;
  const most = `max ${threeDigits(largest)}${boundText(setting, i)}`;
  const figure = html("span", { class: "figure", title: most }, html("b", {}, mean(rms)), ` · ${most}`);
  return html("li", {}, name, html("span", { class: "bar" }, fill, end), figure);
}

function drawAtoms() {
  if (!study.atoms) {
    byId("atoms-note").textContent = study.notes.find((note) => note.startsWith("No atoms")) || "";
    return;
  }
  const { nNonzero, nAll, shown } = study.atoms;
  const share = shown.reduce((sum, atom) => sum + atom.share, 0);
  byId("atoms-note").textContent = `The dictionary is fitted to ${nNonzero} code${nNonzero > 1 ? "s" : ""} a time step, by the readings that are there. ${
    shown.length < nAll ? `Shown are the ${shown.length} of ${nAll} atoms with the most energy, ${percent(share)} of it. ` : ""
  }One bar a sensor, in the order of the table; up and down are opposite signs.`;
  byId("atoms").replaceChildren(...shown.map(atomFigure));
}

function atomFigure(atom, i) {
  const [width, height] = [280, 64];
  const largest = Math.max(...atom.weights.map(Math.abs)) || 1;
  const step = width / atom.weights.length;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", height, role: "img",
    "aria-label": `Weights of atom ${i + 1} over the sensors` });
  picture.append(svg("path", { class: "grid", d: `M0 ${height / 2}H${width}` }));
  atom.weights.forEach((weight, j) => {
    const length = (Math.abs(weight) / largest) * (height / 2 - 1);
    picture.append(svg("rect", { x: j * step + step * 0.1, width: step * 0.8, height: length,
      y: weight > 0 ? height / 2 - length : height / 2, class: weight > 0 ? "up" : "down" }));
  });
  const look = (event) => {
    const edge = picture.getBoundingClientRect();
    const j = Math.min(atom.weights.length - 1, Math.max(0, Math.floor(((event.clientX - edge.left) / edge.width) * atom.weights.length)));
    showTip(`atom ${i + 1}, ${study.names[j]}: ${threeDigits(atom.weights[j])}`, event);
  };
  picture.addEventListener("pointermove", look);
  picture.addEventListener("pointerdown", look);
  picture.addEventListener("pointerleave", hideTip);
  return html("figure", {}, html("figcaption", {}, html("b", {}, `Atom ${i + 1}`), html("p", { class: "faint" },
    `${percent(atom.share)} of the energy, ${Math.round(100 * atom.used)}% of the steps`)), html("div", { class: "plot" }, picture));
}
