import { choice, slider } from "./controls.js";
import { BLUE, INK, LINE, ORANGE, PALE_BLUE, PALE_ORANGE, SOFT, line, rect, silent, text } from "./draw.js";

const range = (n) => [...Array(n).keys()];
const divisors = (n) =>
  range(n)
    .map((i) => i + 1)
    .filter((d) => n % d === 0);
const tokens = (n) => n.toLocaleString("en-US");

function bytes(size) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return unit === "bytes" ? `${Math.round(size)} bytes` : `${size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} TiB`;
}

// 2 (keys and values) x batch x tokens x layers x K/V heads x head_dim x bytes of one number
const cache = (model, { length, layers, dtype }, kvHeads) =>
  2 * model.batch_size * length * layers * kvHeads * model.head_dim * model.dtypes[dtype];

function numbers(model, state) {
  const { num_heads: H } = model,
    { kvHeads, length, layers } = state;
  return {
    reads: range(H).map((i) => Math.floor((i * kvHeads) / H)),
    bytes: cache(model, state, kvHeads),
    full: cache(model, state, H),
    scores: model.batch_size * layers * H * length,
  };
}

// The bars keep one scale, MHA at the sizes to begin with, until one does not fit: then all are drawn 4 times shorter.
const STEP = 4;
const begin = (model) => ({
  kvHeads: model.num_kv_heads,
  length: model.seq_len,
  layers: model.num_layers,
  dtype: "bfloat16",
});
function parts(model, state) {
  const first = numbers(model, begin(model));
  const now = numbers(model, state);
  const largest = Math.max(now.full / first.full, now.scores / first.scores);
  let shorter = 1;
  while (largest > shorter * (1 + 1e-9)) shorter *= STEP;
  return {
    shorter,
    cache: (kvHeads) => cache(model, state, kvHeads) / first.full / shorter,
    scores: now.scores / first.scores / shorter,
  };
}

const kind = (H, kvHeads) =>
  kvHeads === H ? "multi-head (MHA)" : kvHeads === 1 ? "multi-query (MQA)" : "grouped-query (GQA)";

export const scene = {
  name: "shared_heads",
  init: begin,
  controls(model, state, set) {
    const options = divisors(model.num_heads);
    return [
      choice("num_kv_heads", Object.fromEntries(options.map((d) => [d, `${d}`])), state.kvHeads, (d) =>
        set({ kvHeads: Number(d) }),
      ),
      choice(
        "dtype",
        Object.fromEntries(Object.keys(model.dtypes).map((name) => [name, name])),
        state.dtype,
        (dtype) => set({ dtype }),
      ),
      slider(
        "tokens",
        { min: 8, max: 20, step: 1, value: Math.log2(state.length), text: tokens(state.length) },
        (power) => set({ length: 2 ** power }),
      ),
      slider("layers", { min: 1, max: 96, value: state.layers, text: `${state.layers}` }, (layers) =>
        set({ layers }),
      ),
    ];
  },
  picture(model, state, width) {
    const { num_heads: H } = model,
      { kvHeads } = state,
      { reads, scores } = numbers(model, state),
      part = parts(model, state);
    const box = Math.min(26, (width - 8) / H - 4),
      q = (i) => ((i + 0.5) * width) / H,
      kv = (j) => ((j + 0.5) * width) / kvHeads;
    const square = (x, y, name, fill, stroke) => [
      rect(x - box / 2, y - box / 2, box, box, { fill, stroke, rx: 5 }),
      text(x, y, name, { "text-anchor": "middle", "font-size": Math.min(12, box / 1.7) }),
    ];
    const half = width >= 560 ? (width - 110) / 2 - 10 : width - 100,
      beside = width >= 560;
    const rows = [
      ["MHA", H],
      ["now", kvHeads],
      ["MQA", 1],
    ];
    const block = (x, y, title, of, color) => [
      text(x, y, title + (part.shorter > 1 ? `, bars × 1/${part.shorter}` : ""), { "font-weight": 600 }),
      rows.map(([name, count], n) => {
        const value = of(count),
          top = y + 16 + n * 28,
          long = Math.max((half - 92) * value.part, 2);
        return [
          beside && x > 96
            ? null
            : text(0, top + 9, `${name}, ${count} K/V`, {
                "font-weight": name === "now" ? 700 : 400,
                fill: name === "now" ? INK : SOFT,
              }),
          rect(x, top, long, 18, { fill: color, opacity: name === "now" ? 1 : 0.45, rx: 2 }),
          text(x + long + 6, top + 9, value.words, { "font-weight": name === "now" ? 700 : 400 }),
        ];
      }),
    ];
    const y = 178;
    return {
      height: y + (beside ? 104 : 212),
      label: `${H} query heads above, ${kvHeads} K/V heads below, with a line from each query head to what it reads`,
      nodes: [
        silent(
          text(0, 8, `${H} query heads`, { fill: SOFT }),
          reads.map((j, i) =>
            line(
              [
                [q(i), 36],
                [kv(j), 124],
              ],
              { stroke: BLUE, "stroke-width": 1.5 },
            ),
          ),
          reads.map((_, i) => square(q(i), 36, i, PALE_BLUE, BLUE)),
          range(kvHeads).map((j) => square(kv(j), 124, j, PALE_ORANGE, ORANGE)),
          text(0, 152, `${kvHeads} K/V head${kvHeads > 1 ? "s" : ""}, kept in the cache`, { fill: SOFT }),
          line(
            [
              [0, 166],
              [width, 166],
            ],
            { stroke: LINE },
          ),
          block(
            96,
            y + 4,
            "cache",
            (count) => ({ part: part.cache(count), words: bytes(cache(model, state, count)) }),
            ORANGE,
          ),
          block(
            beside ? 106 + half : 96,
            y + (beside ? 4 : 112),
            "scores for one new token",
            () => ({ part: part.scores, words: scores.toLocaleString("en-US") }),
            BLUE,
          ),
        ),
      ],
    };
  },
  summary(model, state) {
    const { bytes: now, full, scores } = numbers(model, state),
      { num_heads: H } = model,
      { kvHeads } = state;
    const group = H / kvHeads,
      { shorter } = parts(model, state);
    return (
      `num_kv_heads ${kvHeads}: ${kind(H, kvHeads)}. ${group > 1 ? `Each K/V head serves ${group} query heads` : "Each query head has its own K/V head"}. ` +
      `The cache takes ${bytes(now)}${group > 1 ? `, 1/${group} of MHA's ${bytes(full)}` : ""}. The scores for one new token: ${scores.toLocaleString("en-US")}.` +
      (shorter > 1 ? ` So large a cache needs another scale: a bar of the same length means ${shorter} times as many bytes as at the beginning.` : "")
    );
  },
  note: () =>
    "K/V: keys and values, which the cache keeps of each token. MHA, multi-head: as many K/V heads as query heads. " +
    "GQA, grouped-query: one for each group of them. MQA, multi-query: one for all.",
  numbers,
};
