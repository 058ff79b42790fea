import { scoreColor, weightColor } from "./colors.js";
import { choice } from "./controls.js";
import { INK, ORANGE, SOFT, hundredths, number, share, silent, text } from "./draw.js";
import { heatMap, margins } from "./grid.js";
import { softmax } from "./mathematics.js";

// What stands in the place of a masked score, and what becomes of the weights then.
const FILLS = {
  zero: "−∞, and empty rows 0",
  inf: "−∞ only",
  finite: "−1e9",
};

function weightsOf(row, allowed, fill) {
  const empty = !allowed.some(Boolean);
  if (fill === "finite") return softmax(row.map((s, j) => (allowed[j] ? s : -1e9)));
  if (fill === "inf" && empty) return row.map(() => NaN); // 0 / 0
  return softmax(row.map((s, j) => (allowed[j] ? s : null)));
}

const numbers = (model, { mask, fill }) => ({
  mask,
  weights: model.scores.map((row, i) => weightsOf(row, mask[i], fill)),
});
const presetOf = (model, mask) =>
  Object.keys(model.presets).find((name) => JSON.stringify(model.presets[name]) === JSON.stringify(mask));

let stroke = null; // while the mouse paints: the value it paints
let pointer = ""; // what pressed last: a mouse paints when it goes down, a finger when it lifts

export const scene = {
  name: "mask_painter",
  init: (model) => ({ mask: structuredClone(model.presets.causal), at: [0, 0], fill: "zero" }),
  controls: (model, { mask, fill }, set) => [
    choice(
      "paint",
      Object.fromEntries(Object.keys(model.presets).map((name) => [name, name])),
      presetOf(model, mask),
      (name) => set({ mask: structuredClone(model.presets[name]) }),
    ),
    choice("masked scores become", FILLS, fill, (fill) => set({ fill })),
  ],
  picture(model, state, width, set) {
    const { scores, queries, keys } = model,
      { mask, at, fill } = state;
    const { weights } = numbers(model, state);
    const largest = Math.max(...scores.flat().map(Math.abs));
    const { left, top, bottom } = margins(queries, keys);
    const wide = width >= 600,
      sums = 46;
    const room = wide ? (width - 3 * left - sums) / 3 - 4 : width - left - sums;
    const size = Math.min(46, room / keys.length);
    const panelWidth = left + size * keys.length + 6,
      panelHeight = top + size * queries.length + bottom + 4;
    const place = (n) => (wide ? { x: n * panelWidth, y: 0 } : { x: 0, y: n * panelHeight });
    const write = (i, j, value) => {
      if (mask[i][j] === value) return;
      mask[i][j] = value;
      set({ mask, at: [i, j] });
    };
    const sumOf = (i) => weights[i].reduce((a, b) => a + b, 0);
    const label = (i, j) =>
      `query ${queries[i]}, key ${keys[j]}: ${mask[i][j] ? "may attend" : "masked"}, score ${number(scores[i][j])}, weight ${number(weights[i][j])}`;
    const end = place(2);
    return {
      height: wide ? panelHeight : 3 * panelHeight,
      label:
        "Scores, masked scores and weights. In the masked scores, Space or Enter masks a cell or frees it",
      interactive: true,
      nodes: [
        heatMap({
          ...place(0),
          size,
          queries,
          keys,
          title: "scores",
          cell: (i, j) => ({ fill: scoreColor(scores[i][j], largest), words: number(scores[i][j], 1) }),
        }),
        heatMap({
          ...place(1),
          size,
          queries,
          keys,
          title: "masked scores: press cells",
          label: "mask",
          at,
          move: (i, j) => set({ at: [i, j] }),
          cell: (i, j) => ({
            fill: scoreColor(scores[i][j], largest),
            masked: !mask[i][j],
            label: label(i, j),
            words: mask[i][j] ? number(scores[i][j], 1) : fill === "finite" ? "−1e9" : "−∞",
          }),
          pick: (i, j, event) => {
            if (event.type === "keydown" || pointer !== "mouse") write(i, j, 1 - mask[i][j]);
            pointer = "";
          },
          props: (i, j) => ({
            onpointerdown: (event) => {
              pointer = event.pointerType;
              if (pointer !== "mouse" || event.button) return;
              stroke = 1 - mask[i][j];
              addEventListener(
                "pointerup",
                () => {
                  stroke = null;
                },
                { once: true },
              );
              write(i, j, stroke);
            },
            onpointerenter: () => {
              if (stroke !== null) write(i, j, stroke);
            },
          }),
        }),
        heatMap({
          ...end,
          size,
          queries,
          keys,
          title: "weights",
          cell: (i, j) => ({
            fill: Number.isNaN(weights[i][j]) ? "#c62828" : weightColor(weights[i][j]),
            masked: !mask[i][j] && weights[i][j] === 0,
            words: Number.isNaN(weights[i][j]) ? "NaN" : mask[i][j] ? hundredths(weights[i][j]) : share(weights[i][j]),
          }),
        }),
        silent(
          text(end.x + left + size * keys.length + 8, end.y + 10, "sum", { fill: SOFT }),
          queries.map((_, i) =>
            text(end.x + left + size * keys.length + 8, end.y + top + (i + 0.5) * size, number(sumOf(i)), {
              fill: Math.abs(sumOf(i) - 1) < 0.005 ? INK : ORANGE,
              "font-weight": 600,
            }),
          ),
        ),
      ],
    };
  },
  summary(model, { mask, at: [i], fill }) {
    const row = weightsOf(model.scores[i], mask[i], fill),
      name = model.queries[i];
    const masked = mask.flat().filter((cell) => !cell).length;
    const count = `${masked} of ${mask.flat().length} cells are masked.`;
    const spread = row.map((w, j) => `${model.keys[j]} ${number(w)}`).join(", ");
    const empty = model.queries.filter((_, i) => !mask[i].some(Boolean));
    const nothing = !empty.length
      ? ""
      : ` What sees nothing: ${empty.map((name) => `“${name}”`).join(", ")}. ` +
        {
          zero: "All weights of such a row are 0, and so is its output.",
          inf: "0 / 0 gives NaN, which spreads to everything it meets.",
          finite: "All scores of such a row are equal, so it attends evenly to keys that it must not see.",
        }[fill];
    return `${count} Query ${name}: ${spread}.${nothing}`;
  },
  numbers,
};
