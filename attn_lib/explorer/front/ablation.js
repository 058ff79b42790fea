import { button, toggle } from "./controls.js";
import {
  BLUE,
  INK,
  LINE,
  ORANGE,
  SOFT,
  line,
  longest,
  number,
  rect,
  shortened,
  silent,
  text,
} from "./draw.js";
import { h } from "./page.js";

// The losses stand in the order of counting in binary, head 0 first.
const lossOf = (model, on) => model.losses[on.reduce((index, bit) => 2 * index + (bit ? 1 : 0), 0)];
const flipped = (on, i) => on.map((bit, j) => (i === j ? !bit : bit));

// By how much each head lowers the loss, with the other switches as they are.
const gains = (model, on) =>
  on.map((bit, i) => (lossOf(model, flipped(on, i)) - lossOf(model, on)) * (bit ? 1 : -1));

const numbers = (model, { on }) => ({
  on,
  loss: lossOf(model, on),
  gains: gains(model, on),
  shares: model.shares,
});

export const scene = {
  name: "ablation",
  init: (model) => ({ on: model.names.map(() => true) }),
  controls: (model, { on }, set) => [
    h(
      "div",
      { role: "group", "aria-label": "heads that are on", style: "display:flex;flex-wrap:wrap;gap:2px 14px" },
      model.names.map((name, i) => toggle(name, on[i], () => set({ on: flipped(on, i) }))),
    ),
    button("All on", () => set({ on: on.map(() => true) })),
    button("All off", () => set({ on: on.map(() => false) })),
  ],
  picture(model, { on }, width) {
    const { names, shares, largest, losses } = model,
      loss = lossOf(model, on),
      gain = gains(model, on);
    const [low, high] = [Math.min(...losses), Math.max(...losses)];
    const px = (value) => 8 + ((value - low) / (high - low || 1)) * (width - 16);
    const all = lossOf(
        model,
        on.map(() => true),
      ),
      none = lossOf(
        model,
        on.map(() => false),
      );
    const side = (value) => (px(value) > width / 2 ? "end" : "start");
    const scale = silent(
      text(0, 8, "loss", { "font-weight": 600 }),
      text(34, 8, number(loss, 3), { "font-weight": 700, fill: ORANGE, "font-size": 15 }),
      line(
        [
          [8, 42],
          [width - 8, 42],
        ],
        { stroke: LINE, "stroke-width": 6, "stroke-linecap": "round" },
      ),
      losses.map((value) =>
        line(
          [
            [px(value), 39],
            [px(value), 45],
          ],
          { stroke: SOFT, opacity: 0.35 },
        ),
      ),
      [
        [all, "all on"],
        [none, "all off"],
      ].map(([value, name]) => [
        line(
          [
            [px(value), 32],
            [px(value), 52],
          ],
          { stroke: INK, "stroke-width": 2 },
        ),
        text(px(value), 62, `${name} ${number(value, 3)}`, { "text-anchor": side(value), fill: SOFT }),
      ]),
      h("circle", { cx: px(loss), cy: 42, r: 8, fill: ORANGE, stroke: "var(--paper)", "stroke-width": 2 }),
    );
    const columns = [
      ["lowers the loss now by", gain, BLUE, 3],
      ["its share", shares, ORANGE, 3],
      ...(largest ? [["largest weight", largest, SOFT, 2]] : []),
    ];
    const left = Math.min(longest(names), 70) + 14,
      each = (width - left) / columns.length,
      y = 96;
    const spread = Math.max(...[...gain, ...shares].map(Math.abs), 1e-9);
    const below = Math.min(...gain, ...shares, 0) < -spread / 100; // somebody harms
    const table = silent(
      columns.map(([name, values, color, digits], c) => {
        const x = left + c * each,
          room = each - 52,
          top = c === 2 ? 1 : spread;
        const zero = c < 2 && below ? x + room * 0.35 : x,
          unit = (c < 2 && below ? room * 0.65 : room) / top;
        return [
          text(x, y, each < 110 && c === 0 ? "gain now" : name, {
            "font-weight": 600,
            "font-size": each < 130 ? 11 : 12,
          }),
          values.map((value, i) => {
            const row = y + 16 + i * 26,
              long = Math.max(Math.abs(value) * unit, 1);
            const start = value < 0 ? Math.max(zero - long, x) : zero;
            return [
              rect(start, row, Math.max(value < 0 ? zero - start : long, 1), 16, {
                fill: color,
                opacity: on[i] ? 1 : 0.35,
                rx: 2,
              }),
              text(value < 0 ? zero + 5 : zero + long + 5, row + 8, number(value, digits), {
                "font-size": 11,
                fill: on[i] ? INK : SOFT,
              }),
            ];
          }),
          line(
            [
              [zero, y + 12],
              [zero, y + 14 + names.length * 26],
            ],
            { stroke: SOFT },
          ),
        ];
      }),
      names.map((name, i) =>
        text(0, y + 24 + i * 26, shortened(name, 11), {
          fill: on[i] ? INK : SOFT,
          "text-decoration": on[i] ? null : "line-through",
        }),
      ),
    );
    return {
      height: y + 22 + names.length * 26,
      label: "The loss with these heads, and what each head is worth",
      nodes: [scale, table],
    };
  },
  summary(model, { on }) {
    const loss = lossOf(model, on),
      all = lossOf(
        model,
        on.map(() => true),
      ),
      gain = gains(model, on);
    const off = model.names.filter((_, i) => !on[i]);
    const best = gain.indexOf(Math.max(...gain)),
      most = model.shares.indexOf(Math.max(...model.shares));
    const change = off.length
      ? `, ${number(Math.abs(loss - all), 3)} ${loss >= all ? "above" : "below"} all on`
      : "";
    return (
      `Off: ${off.join(", ") || "none"}. Loss ${number(loss, 3)}${change}. As the switches are, ` +
      (gain[best] > 0 ? `${model.names[best]} lowers it most, by ${number(gain[best], 3)}` : "no head lowers it") +
      `. Over all combinations, ${model.names[most]} has the largest share, ${number(model.shares[most], 3)}.` +
      (model.largest
        ? ` The largest weights are those of ${model.names[model.largest.indexOf(Math.max(...model.largest))]}.`
        : "")
    );
  },
  note: ({ largest }) =>
    "Loss: how wrong the model is, so less is better. 1.3 is head 3 of layer 1. First column: how much more loss " +
    "without this head, the other switches as they are. A share is the mean of that over all orders in which the " +
    'heads can be switched on (Shapley value); all shares together are the way from "all off" to "all on".' +
    (largest ? " Largest weight: of each row of the head, on average." : ""),
  numbers,
};
