// Heat maps on canvases: many weights, redrawn at every key.

import { inkOn, weightColor } from "./colors.js";
import { share, shortened } from "./draw.js";

// Colors go by the root of a weight: among 200 tokens, also a strong head gives most of them little.
const STEPS = 1023;
const COLORS = Array.from({ length: STEPS + 1 }, (_, i) => weightColor(Math.sqrt(i / STEPS)));
// As a canvas has them in memory: red in the lowest byte, opaque.
const PIXELS = Uint32Array.from(COLORS, (color) => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
});
const FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

const colorOf = (weight) => COLORS[Math.round(STEPS * weight)];
export const colorScale = Array.from({ length: 17 }, (_, i) => weightColor(i / 16)).join(",");

// A head in small: one pixel a weight. What a causal head may not ask stays empty.
export function thumbnail(canvas, map, n, causal) {
  canvas.width = canvas.height = Math.max(n, 1);
  if (!n) return;
  const { data, stride } = map;
  const image = new ImageData(n, n);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < n; i++) {
    const end = causal ? i + 1 : n;
    for (let j = 0; j < end; j++) pixels[i * n + j] = PIXELS[Math.round(STEPS * data[i * stride + j])];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Where the cells of a large map are, so that it keeps its place and height whatever is typed.
export function cells(canvas, n) {
  const left = canvas.clientWidth < 420 ? 86 : 100;
  return { left, top: 4, size: Math.min((canvas.clientWidth - left - 4) / n, 46) };
}

// One head, large: cells with their numbers where there is room, labels, the row and the column of a token.
export function heatMap(canvas, small, { map, n, labels, at, causal }) {
  const room = canvas.clientWidth;
  const scale = devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(room * scale);
  const brush = canvas.getContext("2d");
  brush.scale(scale, scale);
  brush.imageSmoothingEnabled = false;
  const { left, top, size } = cells(canvas, n);
  const side = size * n;
  const color = (name) => getComputedStyle(canvas).getPropertyValue(name).trim();
  const write = (words, x, y, align, { fill = "--ink", bold, px = 12, turn = 0 } = {}) => {
    brush.save();
    brush.translate(x, y);
    brush.rotate((turn * Math.PI) / 180);
    brush.font = `${bold ? 700 : 400} ${px}px ${FONT}`;
    [brush.textAlign, brush.textBaseline] = [align, "middle"];
    brush.fillStyle = fill.startsWith("--") ? color(fill) : fill;
    brush.fillText(words, 0, 0);
    brush.restore();
  };
  if (!n) return write("nothing to show yet", room / 2, room / 3, "center", { fill: "--soft", px: 14 });
  brush.drawImage(small, left, top, side, side);
  const every = Math.ceil(11 / size); // labels of 11 pixels need that many cells
  labels.forEach((label, i) => {
    const look = { px: Math.min(12, size * every), bold: i === at, fill: i === at ? "--orange" : "--ink" };
    const middle = (i + 0.5) * size;
    if (i % every && i !== at) return;
    if (i !== at && Math.abs(i - at) * size < 10) return; // the chosen one has the room
    write(shortened(label, 11), left - 5, top + middle, "right", look);
    write(shortened(label, 11), left + middle + 2, top + side + 7, "right", { ...look, turn: -45 });
  });
  write("who asks (query)", 8, top + side / 2, "center", { fill: "--soft", turn: -90 });
  write("who is asked (key)", left + side / 2, room - 8, "center", { fill: "--soft" });
  if (size >= 26) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < (causal ? i + 1 : n); j++) {
        const weight = map.data[i * map.stride + j];
        const ink = { fill: inkOn(colorOf(weight)), px: Math.min(12, size / 2.4) };
        write(share(weight), left + (j + 0.5) * size, top + (i + 0.5) * size, "center", ink);
      }
    }
  }
  [brush.strokeStyle, brush.lineWidth] = [color("--orange"), 2.5];
  const [from, far] = [at * size, causal ? (at + 1) * size : side];
  brush.strokeRect(left, top + from, far, size);
  brush.setLineDash([4, 3]);
  brush.strokeRect(left + from, top + (causal ? from : 0), size, causal ? side - from : side);
}
