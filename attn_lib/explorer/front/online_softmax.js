import { button, slider } from "./controls.js";
import { BLUE, INK, LINE, ORANGE, PALE_ORANGE, SOFT, line, number, rect, silent, text } from "./draw.js";
import { softmax } from "./mathematics.js";

const range = (n) => [...Array(n).keys()];
const LEAST = 4; // pixels of a bar, so that a score of 0 is seen

// The state before the first block and after each: m, l, acc, and the factor that rescaled the old l and acc.
function run(model, block) {
  const { scores, values } = model;
  const states = [{ m: -Infinity, l: 0, acc: values[0].map(() => 0), factor: null }];
  for (let start = 0; start < scores.length; start += block) {
    const here = range(Math.min(block, scores.length - start)).map((i) => start + i);
    const old = states.at(-1);
    const m = Math.max(old.m, ...here.map((j) => scores[j] ?? -Infinity));
    // Nothing seen yet: -inf - -inf would be NaN.
    const factor = m === -Infinity ? 1 : Math.exp(old.m - m);
    const p = here.map((j) => (scores[j] === null ? 0 : Math.exp(scores[j] - m)));
    states.push({
      m,
      factor,
      here,
      p,
      l: old.l * factor + p.reduce((a, b) => a + b, 0),
      acc: old.acc.map((a, c) => a * factor + here.reduce((sum, j, n) => sum + p[n] * values[j][c], 0)),
    });
  }
  return states;
}

function full(model) {
  const w = softmax(model.scores);
  return model.values[0].map((_, c) => w.reduce((sum, weight, j) => sum + weight * model.values[j][c], 0));
}

const outputOf = ({ acc, l }) => acc.map((a) => (l ? a / l : 0));

function numbers(model, { block, step }) {
  const { m, l, acc } = run(model, block)[step];
  return {
    m: Number.isFinite(m) ? m : null,
    l,
    acc,
    output: outputOf({ acc, l }),
    full: full(model),
    steps: run(model, block).length - 1,
  };
}

export const scene = {
  name: "online_softmax",
  init: (model) => ({ block: model.block_size, step: 1 }),
  controls(model, { block, step }, set) {
    const count = Math.ceil(model.scores.length / block);
    return [
      slider("block size", { min: 1, max: model.scores.length, value: block, text: `${block}` }, (block) =>
        set({ block, step: Math.min(step, Math.ceil(model.scores.length / block)) }),
      ),
      slider("blocks seen", { min: 0, max: count, value: step, text: `${step} of ${count}` }, (step) =>
        set({ step }),
      ),
      button("Next block", () => set({ step: (step + 1) % (count + 1) })),
    ];
  },
  picture(model, { block, step }, width) {
    const { scores } = model,
      states = run(model, block),
      now = states[step],
      S = scores.length;
    const finite = scores.filter((s) => s !== null),
      high = Math.max(...finite, 0) + 0.5,
      low = Math.min(...finite, 0) - 0.5;
    const left = 34,
      cell = (width - left) / S,
      chart = 150;
    const px = (j) => left + j * cell,
      py = (s) => 26 + ((high - s) / (high - low)) * (chart - 26);
    const seen = Math.min(step * block, S),
      first = (step - 1) * block;
    const fill = (j) => (j >= seen ? LINE : j >= first ? ORANGE : BLUE);
    const bars = silent(
      text(0, 8, "scores of the keys", { "font-weight": 600 }),
      step > 0
        ? rect(px(first), 20, (seen - first) * cell, chart + 16, { fill: PALE_ORANGE, opacity: 0.55, rx: 4 })
        : null,
      scores.map((s, j) =>
        s === null
          ? text(px(j) + cell / 2, py(0) - 8, "−∞", { "text-anchor": "middle", fill: SOFT })
          : rect(px(j) + cell * 0.15, Math.min(py(s), py(0) - LEAST / 2), cell * 0.7, Math.max(Math.abs(py(s) - py(0)), LEAST), {
              fill: fill(j),
            }),
      ),
      line(
        [
          [left, py(0)],
          [width, py(0)],
        ],
        { stroke: SOFT },
      ),
      Math.abs(py(now.m) - py(0)) < 12
        ? null // the letter m has the room
        : text(left - 6, py(0), "0", { "text-anchor": "end", fill: SOFT, "font-size": 11 }),
      Number.isFinite(now.m)
        ? [
            line(
              [
                [left, py(now.m)],
                [width, py(now.m)],
              ],
              { stroke: INK, "stroke-dasharray": "5 4" },
            ),
            text(left - 6, py(now.m), "m", { "text-anchor": "end", "font-weight": 700 }),
          ]
        : null,
      cell > 24
        ? scores.map((s, j) =>
            text(px(j) + cell / 2, chart + 12, s === null ? "" : number(s, 1), {
              "text-anchor": "middle",
              "font-size": 11,
              fill: j < seen ? INK : SOFT,
            }),
          )
        : null,
      range(Math.ceil(S / block) - 1).map((n) =>
        line(
          [
            [px((n + 1) * block), 22],
            [px((n + 1) * block), chart + 20],
          ],
          { stroke: SOFT, "stroke-dasharray": "2 3" },
        ),
      ),
    );
    // m, l and the factor of this step, in words and numbers
    const y = chart + 42,
      old = states[Math.max(step - 1, 0)];
    const facts = [
      ["m, the largest score so far", step ? `${number(old.m)} → ${number(now.m)}` : number(now.m)],
      ["l and acc so far times exp(m old − m new)", now.factor === null ? "–" : number(now.factor, 3)],
      ["l, the sum of exp(score − m)", step ? `${number(old.l)} → ${number(now.l)}` : number(now.l)],
    ];
    const table = silent(
      facts.map(([name, value], n) => [
        rect(0, y + n * 26 - 12, width, 24, { fill: "var(--panel)", rx: 5 }),
        text(8, y + n * 26, name, { "font-size": width < 420 ? 11 : 12 }),
        text(width - 8, y + n * 26, value, { "text-anchor": "end", "font-weight": 700 }),
      ]),
    );
    // the output so far, beside what all keys at once give
    const goal = full(model),
      output = outputOf(now),
      top = y + 3 * 26 + 12;
    const largest = Math.max(
      ...states.flatMap((state) => outputOf(state).map(Math.abs)),
      ...goal.map(Math.abs),
      1e-9,
    );
    const signed = states.some((state) => outputOf(state).some((o) => o < 0)) || goal.some((g) => g < 0);
    const room = width - 150,
      zero = signed ? 70 + room / 2 : 70,
      scale = (signed ? room / 2 : room) / largest;
    const bar = (v, y, height, props) =>
      rect(zero + Math.min(v, 0) * scale, y, Math.max(Math.abs(v) * scale, 1), height, props);
    const outputs = silent(
      text(0, top, "output so far, acc / l", { "font-weight": 600 }),
      text(width, top, "frame: all keys at once", { "text-anchor": "end", fill: SOFT }),
      goal.map((g, c) => {
        const at = top + 16 + c * 26;
        return [
          text(0, at + 9, `channel ${c}`, { fill: SOFT }),
          bar(output[c], at + 2, 14, { fill: BLUE }),
          bar(g, at, 18, { fill: "none", stroke: ORANGE, "stroke-width": 2 }),
          text(width, at + 9, `${number(output[c])} / ${number(g)}`, { "text-anchor": "end" }),
        ];
      }),
      line(
        [
          [zero, top + 14],
          [zero, top + 16 + goal.length * 26],
        ],
        { stroke: SOFT },
      ),
    );
    return {
      height: top + 22 + goal.length * 26,
      label: "Scores in blocks, the running maximum and sum, and the output",
      nodes: [bars, table, outputs],
    };
  },
  summary(model, { block, step }) {
    const states = run(model, block),
      count = states.length - 1,
      now = states[step];
    if (!step)
      return `Nothing seen yet: m is −∞, l and the output are 0. Only one block of ${block} scores is ever held, not all ${model.scores.length}.`;
    const grown = now.m > states[step - 1].m && step > 1 && states[step - 1].m > -Infinity;
    const shrink =
      now.m === -Infinity
        ? "No key of it may be seen."
        : grown
          ? `The maximum rose, so l and acc are multiplied by ${number(now.factor, 3)}.`
          : step === 1 || states[step - 1].m === -Infinity
            ? "There was nothing to rescale."
            : "The maximum stayed, so nothing is rescaled.";
    const output = outputOf(now)
      .map((o) => number(o))
      .join(", ");
    return (
      `Block ${step} of ${count}: m ${number(now.m)}, l ${number(now.l)}. ${shrink} Output ${step === count ? "" : "so far "}${output}` +
      (step === count ? ", the same as with all keys at once." : ".")
    );
  },
  numbers,
};
