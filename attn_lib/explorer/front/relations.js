// What one token asks, who asks it, and that in words.

import { percent } from "./draw.js";

export const range = (n) => [...Array(n).keys()];
const quoted = (label) => `“${label}”`;

// state: {model, labels, causal, layer, head, at}; at is null where the last token is looked at.
export const chosenToken = ({ at, model }) => Math.min(at ?? Infinity, model.length - 1);

export function relations(state) {
  const { model, causal, layer, head } = state;
  const [n, i] = [model.length, chosenToken(state)];
  if (n < 1) return { asks: [], asked: [] };
  const { data, stride } = model.map(layer, head);
  return {
    asks: range(n).map((j) => (causal && j > i ? null : data[i * stride + j])),
    asked: range(n).map((k) => (causal && k < i ? null : data[k * stride + i])),
  };
}

// Of a whole head: the share of its weight that goes to the token before, the first, and the token itself.
function habits({ model, layer, head }) {
  const { data, stride } = model.map(layer, head);
  const n = model.length;
  const mean = (key) => range(n - 1).reduce((sum, i) => sum + data[(i + 1) * stride + key(i + 1)], 0) / (n - 1);
  return { before: mean((i) => i - 1), first: mean(() => 0), itself: mean((i) => i) };
}

export function summary(state) {
  const { model, labels, layer, head } = state;
  if (model.length < 1) return "";
  const i = chosenToken(state);
  const { asks, asked } = relations(state);
  const strongest = (weights) =>
    weights
      .map((w, j) => [w ?? 0, j])
      .filter(([w, j]) => w >= 0.05 && (weights === asks || j !== i))
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .map(([w, j]) => `${j === i ? "itself" : quoted(labels[j])} (${percent(w)})`)
      .join(", ");
  const said = `Layer ${layer}, head ${head}: ${quoted(labels[i])} asks ${strongest(asks) || "all a little"}. `;
  const by = strongest(asked);
  if (model.length < 2) return said;
  const { before, first, itself } = habits(state);
  const overlap = before + first + itself > 1 ? " (they overlap: before the second token stands the first)" : "";
  return (
    `${said}${by ? `It is asked by ${by}. ` : ""}The whole head gives ${percent(before)} of its weight to the ` +
    `token before, ${percent(first)} to the first one, and ${percent(itself)} to the asking token itself${overlap}.`
  );
}
