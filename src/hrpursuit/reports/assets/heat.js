// Heat maps of time steps by sensors.
const nSteps = study.picture.labels.length;
const nShown = study.picture.columns.length;

/** Colour each cell; `place` takes the number in a cell to 0 ... 1. */
function paint(cells, colours, gap, place) {
  const image = new ImageData(nSteps, nShown);
  for (let sensor = 0; sensor < nShown; sensor++) {
    for (let step = 0; step < nSteps; step++) {
      const cell = cells[step * nShown + sensor];
      const i = Math.round(255 * Math.min(1, Math.max(0, place(cell))));
      image.data.set(cell === GAP ? gap : colours[i], 4 * (sensor * nSteps + step));
      image.data[4 * (sensor * nSteps + step) + 3] = 255;
    }
  }
  const canvas = html("canvas");
  canvas.width = nSteps;
  canvas.height = nShown;
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function mapMargins(context, width) {
  const longest = Math.max(...study.picture.columns.map((column) => context.measureText(study.names[column]).width));
  return { left: Math.min(Math.ceil(longest) + 8, width < 500 ? 44 : 84), right: 2, top: 6, bottom: 20 };
}

function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let n = text.length;
  while (n > 1 && context.measureText(`${text.slice(0, n)}…`).width > width) n--;
  return `${text.slice(0, n)}…`;
}

/** Put the painted cells on the page with names at the left and times below. */
function drawMap(canvas, painted) {
  const width = canvas.clientWidth;
  const inner = Math.max(28, Math.min(width < 500 ? 180 : 285, nShown * (width < 500 ? 4 : 6)));
  const dots = devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  context.font = "11px system-ui, sans-serif";
  const margins = mapMargins(context, width);
  const height = margins.top + inner + margins.bottom;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  context.setTransform(dots, 0, 0, dots, 0, 0);
  const box = { x: margins.left, y: margins.top, width: width - margins.left - margins.right, height: inner };
  context.imageSmoothingEnabled = box.width * dots < nSteps || box.height * dots < nShown; // thin out by means
  context.imageSmoothingQuality = "high";
  context.drawImage(painted, box.x, box.y, box.width, box.height);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = cssColour("--faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil((13 * nShown) / inner));
  for (let i = 0; i < nShown; i += every) {
    const name = fitted(context, study.names[study.picture.columns[i]], margins.left - 8);
    context.fillText(name, box.x - 6, box.y + ((i + 0.5) / nShown) * inner);
  }
  drawTimes(context, box);
  return box;
}

function drawTimes(context, box) {
  context.textBaseline = "top";
  let free = -Infinity;
  for (const [place, label] of study.picture.ticks) {
    const x = box.x + (place / nSteps) * box.width;
    const half = context.measureText(label).width / 2;
    if (x - half < free) continue;
    context.fillRect(Math.round(x), box.y + box.height, 1, 4);
    const middle = Math.min(Math.max(x, box.x + half), box.x + box.width - half);
    context.textAlign = "center";
    context.fillText(label, middle, box.y + box.height + 6);
    free = middle + half + 10;
  }
}

/** Tell what is in the cell under the pointer. */
function watchMap(canvas, boxOf, tell) {
  const look = (event) => {
    const box = boxOf();
    const edge = canvas.getBoundingClientRect();
    const step = Math.floor(((event.clientX - edge.left - box.x) / box.width) * nSteps);
    const sensor = Math.floor(((event.clientY - edge.top - box.y) / box.height) * nShown);
    if (step < 0 || sensor < 0 || step >= nSteps || sensor >= nShown) hideTip();
    else showTip(tell(step, sensor), event);
  };
  canvas.addEventListener("pointermove", look);
  canvas.addEventListener("pointerdown", look);
  canvas.addEventListener("pointerleave", hideTip);
}
