// Numbers to colours: one map from dark to light for readings, one with a neutral middle for errors.
const READINGS = ["#00224e", "#17376d", "#41506b", "#61666f", "#7f7d78", "#a09776", "#c2b26b", "#e3ce53", "#fee838"];

function parts(hex) {
  const full = hex.length === 4 ? `#${[...hex.slice(1)].map((c) => c + c).join("")}` : hex;
  return [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
}

/** 256 colours between these, as red, green, blue. */
function ramp(colours) {
  const stops = colours.map(parts);
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(place));
    return stops[k].map((from, j) => Math.round(from + (place - k) * (stops[k + 1][j] - from)));
  });
}

/** For the present colour scheme. */
function makeColours() {
  const errors = [cssColour("--below"), cssColour("--neutral"), cssColour("--above")];
  return { readings: ramp(READINGS), errors: ramp(errors), errorStops: errors, gap: parts(cssColour("--gap")) };
}

/** A strip of colours with the numbers at its ends, and what a gap looks like. */
function drawScale(id, stops, low, high) {
  const strip = html("i", { class: "ramp" });
  strip.style.background = `linear-gradient(to right, ${stops.join(",")})`;
  byId(id).replaceChildren(low, strip, high, html("i", { class: "gap" }), "gap: no reading");
}
