import { slider } from "./controls.js";
import { BLUE, INK, LINE, ORANGE, SOFT, line, number, rect, silent, text } from "./draw.js";
import { entropy, softmax } from "./mathematics.js";
import { h } from "./page.js";

const divisor = (dim, power) => dim ** power;
const weightsAt = (model, at, power) =>
  softmax(model.scores[at].map((s) => s / divisor(model.dims[at], power)));

// The size of the softmax's derivatives dw_i/ds_j = w_i ([i = j] - w_j), as root of the sum of squares.
function gradient(w) {
  let sum = 0;
  for (let i = 0; i < w.length; i++)
    for (let j = 0; j < w.length; j++) sum += (w[i] * ((i === j) - w[j])) ** 2;
  return Math.sqrt(sum);
}

const MEASURES = {
  "entropy (nats)": entropy,
  "largest weight": (w) => Math.max(...w),
  "size of the gradient": gradient,
};
const POWERS = { 0: "1, that is not at all", 0.5: "√D", 1: "D" };
const named = (power) => POWERS[power] ?? `D^${power}`;

function numbers(model, { at, power }) {
  const w = weightsAt(model, at, power);
  return {
    dim: model.dims[at],
    divisor: divisor(model.dims[at], power),
    weights: w,
    entropy: entropy(w),
    largest: Math.max(...w),
    gradient: gradient(w),
  };
}

function bars(w, scores, x, y, width, height) {
  const foot = y + height - 44,
    tall = foot - y - 40;
  return silent(
    text(x, y + 10, "weights of the keys", { "font-weight": 600 }),
    [0, 0.5, 1].map((tick) => [
      line(
        [
          [x + 24, foot - tick * tall],
          [x + width, foot - tick * tall],
        ],
        { stroke: LINE },
      ),
      text(x + 20, foot - tick * tall, tick, { "text-anchor": "end", fill: SOFT, "font-size": 11 }),
    ]),
    w.map((weight, j) => {
      const inner = (width - 30) / w.length,
        left = x + 28 + j * inner;
      return [
        rect(left + inner * 0.14, foot - weight * tall, inner * 0.72, weight * tall, { fill: BLUE }),
        text(
          left + inner / 2,
          foot - weight * tall - 9,
          weight < 0.005 ? "0" : weight.toFixed(2).replace(/^0/, ""),
          { "text-anchor": "middle", "font-size": 11 },
        ),
        text(left + inner / 2, foot + 14, number(scores[j], 1), {
          "text-anchor": "middle",
          "font-size": Math.min(11, inner / 2.6),
          fill: SOFT,
        }),
      ];
    }),
    text(x + 28 + (width - 30) / 2, foot + 34, "divided scores of the keys", {
      "text-anchor": "middle",
      fill: SOFT,
    }),
  );
}

function curve(model, { at, power }, name, measure, x, y, width, height) {
  const values = model.dims.map((_, i) => measure(weightsAt(model, i, power)));
  const top = name.startsWith("entropy")
    ? Math.log(model.scores[0].length)
    : name.startsWith("largest")
      ? 1
      : 0.5;
  const px = (i) => x + 12 + (i * (width - 24)) / (model.dims.length - 1);
  const py = (v) => y + height - 18 - (Math.min(v, top) / top) * (height - 46);
  return silent(
    text(x, y + 8, name, { "font-weight": 600 }),
    text(x + width, y + 8, number(values[at]), { "text-anchor": "end", "font-weight": 600, fill: ORANGE }),
    line(
      [
        [x, py(0)],
        [x + width, py(0)],
      ],
      { stroke: LINE },
    ),
    line(
      [
        [x, py(top)],
        [x + width, py(top)],
      ],
      { stroke: LINE, "stroke-dasharray": "3 3" },
    ),
    line(
      values.map((v, i) => [px(i), py(v)]),
      { stroke: BLUE, "stroke-width": 2 },
    ),
    values.map((v, i) =>
      h("circle", { cx: px(i), cy: py(v), r: i === at ? 6 : 3, fill: i === at ? ORANGE : BLUE }),
    ),
    model.dims.map((dim, i) =>
      text(px(i), y + height - 7, dim, {
        "text-anchor": "middle",
        "font-size": 10,
        fill: i === at ? INK : SOFT,
      }),
    ),
  );
}

export const scene = {
  name: "scale",
  init: (model) => ({ at: model.dims.indexOf(64), power: 0 }),
  controls: (model, state, set) => [
    slider(
      "head_dim D",
      { min: 0, max: model.dims.length - 1, value: state.at, text: `${model.dims[state.at]}` },
      (at) => set({ at }),
    ),
    slider(
      "divide by",
      {
        min: 0,
        max: 1,
        step: 0.1,
        value: state.power,
        text: `${named(state.power).replace(/,.*/, "")} = ${number(divisor(model.dims[state.at], state.power), 1)}`,
      },
      (power) => set({ power }),
    ),
  ],
  picture(model, state, width) {
    const wide = width >= 560,
      left = wide ? width * 0.5 : width,
      charts = wide ? width * 0.44 : width;
    const w = weightsAt(model, state.at, state.power);
    const scores = model.scores[state.at].map((s) => s / divisor(model.dims[state.at], state.power));
    const [x, y] = wide ? [width - charts, 0] : [0, 230];
    return {
      height: wide ? 330 : 230 + 3 * 110 + 16,
      label: "Bars of the weights, and their entropy, largest weight and gradient for each head_dim",
      nodes: [
        bars(w, scores, 0, 0, left, wide ? 330 : 220),
        Object.entries(MEASURES).map(([name, measure], i) =>
          curve(model, state, name, measure, x, y + i * 110, charts, 104),
        ),
        silent(
          text(x + charts / 2, y + 3 * 110 - 6 + (wide ? 0 : 8), wide ? "" : "head_dim D", {
            "text-anchor": "middle",
            fill: SOFT,
          }),
        ),
      ],
    };
  },
  summary(model, state) {
    const { dim, divisor, entropy, largest, gradient, weights } = numbers(model, state);
    const most = Math.log(weights.length);
    const verdict =
      entropy < 0.35 * most
        ? largest > 0.9 ? "One key takes nearly everything, and little gradient is left." : "A few keys take nearly everything."
        : entropy > 0.98 * most
          ? "All keys get nearly the same: the scores no longer matter."
          : "Several keys share.";
    return (
      `head_dim ${dim}, scores divided by ${number(divisor, 1)}: entropy ${number(entropy)} of at most ${number(most)} nats, ` +
      `largest weight ${number(largest)}, size of the gradient ${number(gradient)}. ${verdict}`
    );
  },
  numbers,
};
