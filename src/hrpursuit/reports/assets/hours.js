// The time steps that are kept worst: a table, and one of them beside it in two small plots.
let hourShown = 0;

function drawHours(chosen, hours) {
  const setting = study.settings[chosen];
  byId("hours").hidden = !setting.hours.length;
  byId("hours-note").textContent = setting.hours.length
    ? "By the root mean square error of their readings; choose one to see it."
    : study.nObserved ? "None: every reading comes back exactly." : "None: there are no readings.";
  hourShown = Math.min(hourShown, Math.max(0, setting.hours.length - 1));
  byId("hours-rows").replaceChildren(...setting.hours.map((hour, i) => hourRow(hour, i, chosen, hours)));
  if (setting.hours.length) drawHour(setting.hours[hourShown], hours[chosen][hourShown]);
}

function hourRow(hour, i, chosen, hours) {
  const { reading, restored } = hour;
  const button = html("button", { type: "button", "aria-pressed": i === hourShown }, hour.label);
  button.addEventListener("click", () => {
    hourShown = i;
    drawHours(chosen, hours);
    byId("hours-rows").children[i].querySelector("button").focus();
  });
  const figures = [mean(hour.rms), study.names[hour.column], `${inUnit(reading)} → ${inUnit(restored)}`, inUnit(reading - restored)];
  return html("tr", i === hourShown ? { class: "on" } : {}, html("td", {}, button), ...figures.map((text) => html("td", {}, text)));
}

function drawHour(hour, cells) {
  const name = study.names[hour.column];
  byId("across-title").replaceChildren(html("b", {}, hour.label), study.picture.everyColumn > 1 ? `: every ${ordinal(study.picture.everyColumn)} sensor, in the order of the table` : ": all sensors, in the order of the table");
  byId("around-title").replaceChildren(html("b", {}, name), `: ${hour.ends[0]} to ${hour.ends[1]}`);
  drawPair(byId("across"), cells.across, hour.place, (i) => study.names[study.picture.columns[i]], false);
  drawPair(byId("around"), cells.around, hour.at, (i) => (i === hour.at ? hour.label : `${i > hour.at ? "+" : "−"}${Math.abs(i - hour.at)} steps`), true);
}

/** Readings as dots and the reconstruction as a line; gaps as strips. */
function drawPair(place, [readings, restored], worst, nameOf, joined) {
  const width = place.clientWidth;
  const height = 150;
  const box = { left: 44, right: width - 4, top: 6, bottom: height - 8 };
  const known = [...readings, ...restored].filter((cell) => cell !== GAP).map((cell) => cell * study.step);
  const [low, high] = [Math.min(0, ...known), Math.max(...known, 0)];
  const n = readings.length;
  const x = (i) => box.left + ((i + 0.5) / n) * (box.right - box.left);
  const y = (value) => box.bottom - ((value - low) / (high - low || 1)) * (box.bottom - box.top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": "Readings and what the file gives back" });
  for (const value of evenTicks(low, high, 3)) {
    picture.append(svg("path", { class: "grid", d: `M${box.left} ${y(value)}H${box.right}` }),
      svg("text", { x: box.left - 6, y: y(value) + 4, "text-anchor": "end" }, threeDigits(value)));
  }
  const wide = (box.right - box.left) / n;
  picture.append(svg("rect", { x: x(worst) - wide / 2 - 1, width: wide + 2, y: box.top - 4, height: box.bottom - box.top + 8, fill: "var(--soft)" }));
  let path = "";
  readings.forEach((cell, i) => {
    const isGap = cell === GAP;
    if (isGap) picture.append(svg("rect", { x: x(i) - wide / 2, width: wide, y: box.bottom, height: 6, fill: "var(--gap)" }));
    else path += `${path && readings[i - 1] !== GAP ? "L" : "M"}${x(i)} ${y(restored[i] * study.step)}`;
  });
  if (joined) picture.append(svg("path", { class: "restored", d: path }));
  readings.forEach((cell, i) => {
    if (cell === GAP) return;
    const [from, to] = [y(restored[i] * study.step), y(cell * study.step)];
    if (!joined) picture.append(svg("path", { class: "restored", d: `M${x(i)} ${from}V${to}`, opacity: 0.5 }), svg("path", { class: "restored", d: `M${x(i) - Math.min(5, wide / 2)} ${from}h${Math.min(10, wide)}` }));
    picture.append(svg("circle", { class: "reading", cx: x(i), cy: to, r: Math.min(2.8, Math.max(1.4, wide / 3)) }));
  });
  const look = (event) => {
    const edge = picture.getBoundingClientRect();
    const i = Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - edge.left - box.left) / (box.right - box.left)) * n)));
    showTip(readings[i] === GAP ? `${nameOf(i)}\ngap` : `${nameOf(i)}\nreading ${inUnit(readings[i] * study.step)}, given back ${inUnit(restored[i] * study.step)}`, event);
  };
  picture.addEventListener("pointermove", look);
  picture.addEventListener("pointerdown", look);
  picture.addEventListener("pointerleave", hideTip);
  place.replaceChildren(picture);
}
