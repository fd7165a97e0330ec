// Line plots in SVG, drawn anew at each width so that text keeps its size.
const MARKS = ["circle", "square", "up", "diamond", "down", "plus", "cross", "left", "right", "star"];
const DASHES = ["", "6 3", "8 3 2 3", "2 3", "10 3", "5 2 1 2", "1 2", "8 2", "4 2", "12 3"];

function mark(kind, x, y, colour, isHollow = false, r = 4) {
  const shapes = {
    square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    up: `M${x} ${y - r - 1}L${x + r + 1} ${y + r}H${x - r - 1}z`,
    down: `M${x} ${y + r + 1}L${x + r + 1} ${y - r}H${x - r - 1}z`,
    left: `M${x - r - 1} ${y}L${x + r} ${y - r - 1}V${y + r + 1}z`,
    right: `M${x + r + 1} ${y}L${x - r} ${y - r - 1}V${y + r + 1}z`,
    diamond: `M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}z`,
    plus: `M${x - r} ${y}H${x + r}M${x} ${y - r}V${y + r}`,
    cross: `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`,
    star: `M${x - r} ${y}H${x + r}M${x} ${y - r}V${y + r}M${x - 3} ${y - 3}L${x + 3} ${y + 3}`,
  };
  const isOpen = ["plus", "cross", "star"].includes(kind);
  const style = { fill: isOpen ? "none" : isHollow ? "var(--page)" : colour, stroke: colour, "stroke-width": isOpen || isHollow ? 2 : 0 };
  if (kind === "circle") return svg("circle", { cx: x, cy: y, r, ...style });
  return svg("path", { d: shapes[kind], ...style });
}

/** How each curve looks: ours strong and in one colour, the others one after another, hollow when colours recur. */
const nOurs = study.curves.filter((curve) => curve.method === "adaptive").length;
const looks = study.curves.map((curve, i) => {
  if (i < nOurs) return { colour: "var(--c0)", mark: "circle", isHollow: i > 0, dash: i > 0 ? "3 3" : "", width: 2.5 };
  const k = 1 + ((i - nOurs) % 9);
  return { colour: `var(--c${k})`, mark: MARKS[k], isHollow: i - nOurs >= 9, dash: DASHES[k], width: 1.5 };
});
const xzLook = { colour: "var(--faint)", mark: "cross", dash: null, width: 0 };

/** 1, 2, 5, 10, ... from `low` to `high`. */
function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) found.push(digit * 10 ** power);
  }
  return found.filter((value) => value >= low && value <= high);
}

/** About `n` round numbers from `low` to `high`. */
function evenTicks(low, high, n) {
  const rough = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((value) => value >= 0.8 * rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

function inBytes(n) {
  return n >= 1e6 ? `${n / 1e6} MB` : n >= 1e3 ? `${n / 1e3} kB` : `${n} B`;
}

/** Error against bytes for all methods, with the chosen setting marked. */
function drawCurves(chosen) {
  const place = byId("curves");
  const width = place.clientWidth;
  const height = width < 500 ? 300 : 400;
  const box = { left: 46, right: width - 14, top: 16, bottom: height - 42 };
  const points = study.curves.flatMap((curve) => curve.points);
  const bytes = [...points.map((point) => point.bytes), study.xz];
  const [low, high] = [Math.min(...bytes) / 1.15, Math.max(...bytes) * 1.15];
  const top = Math.max(...points.map((point) => point.rmse), 1e-6) * 1.06;
  const x = (n) => box.left + (Math.log(n / low) / Math.log(high / low)) * (box.right - box.left);
  const y = (rmse) => box.bottom - (rmse / top) * (box.bottom - box.top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img",
    "aria-label": "Relative RMSE against bytes, one line a method; the table of figures says what is chosen" });
  for (const value of evenTicks(0, top * 100, 5)) {
    picture.append(svg("path", { class: "grid", d: `M${box.left} ${y(value / 100)}H${box.right}` }),
      svg("text", { x: box.left - 6, y: y(value / 100) + 4, "text-anchor": "end" }, `${threeDigits(value)}%`));
  }
  let free = -Infinity;
  for (const value of logTicks(low, high)) {
    picture.append(svg("path", { class: "grid", d: `M${x(value)} ${box.top}V${box.bottom}` }));
    if (x(value) - 20 < free) continue;
    free = x(value) + 24;
    picture.append(svg("text", { x: x(value), y: box.bottom + 17, "text-anchor": "middle" }, inBytes(value)));
  }
  picture.append(svg("path", { class: "axis", d: `M${box.left} ${box.bottom}H${box.right}` }),
    svg("text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, "bytes of the whole file (logarithmic)"),
    svg("text", { x: 2, y: 10 }, "relative RMSE"));
  study.curves.map((curve, i) => [curve, i]).reverse().forEach(([curve, i]) => {
    const path = curve.points.map((point, j) => `${j ? "L" : "M"}${x(point.bytes)} ${y(point.rmse)}`).join("");
    picture.append(svg("path", { d: path, fill: "none", stroke: looks[i].colour, "stroke-width": looks[i].width, "stroke-dasharray": looks[i].dash }));
    for (const point of curve.points) picture.append(dot(curve, point, looks[i], x, y));
  });
  const lossless = { bytes: study.xz, rmse: 0, maxError: 0, what: "no loss" };
  const xz = dot({ label: "CSV in xz" }, lossless, xzLook, x, y);
  picture.append(xz, svg("text", { x: x(study.xz) - 4, y: y(0) - 10, "text-anchor": "middle" }, "xz"));
  const at = study.settings[chosen];
  const [cx, cy] = [x(at.bytes), y(at.rmse)];
  const right = cx < (box.left + box.right) / 2;
  picture.append(svg("circle", { id: "chosen", cx, cy, r: 9, fill: "none", stroke: "var(--ink)", "stroke-width": 2.5 }),
    svg("text", { class: "loud", x: cx + (right ? 14 : -14), y: cy - 12, "text-anchor": right ? "start" : "end" },
      `${at.short}: ${grouped(at.bytes)} bytes`));
  place.replaceChildren(picture);
}

function dot(curve, point, look, x, y) {
  const drawn = svg("g", {}, mark(look.mark, x(point.bytes), y(point.rmse), look.colour, look.isHollow),
    svg("circle", { cx: x(point.bytes), cy: y(point.rmse), r: 9, fill: "transparent" }));
  const text = `${curve.label}\n${point.what}\n${grouped(point.bytes)} bytes, RMSE ${percent(point.rmse)}, largest error ${threeDigits(point.maxError)}`;
  drawn.addEventListener("pointermove", (event) => showTip(text, event));
  drawn.addEventListener("pointerdown", (event) => showTip(text, event));
  drawn.addEventListener("pointerleave", hideTip);
  return drawn;
}

function drawLegend() {
  const entry = (label, look) => html("li", {}, svg("svg", { width: 30, height: 14, "aria-hidden": "true" },
    ...(look.dash === null ? [] : [svg("path", { d: "M0 7H30", stroke: look.colour, "stroke-width": look.width, "stroke-dasharray": look.dash })]),
    mark(look.mark, 15, 7, look.colour, look.isHollow)), label);
  const drawn = study.curves.map((curve, i) => [curve, looks[i]]).filter(([curve]) => curve.points.length);
  byId("curves-legend").replaceChildren(...drawn.map(([curve, look]) => entry(curve.label, look)),
    entry("the CSV text in xz, without loss", xzLook));
}
