// The way of one token to the next word, scale by scale: letters, model, block, head, dot product, numbers.

import { scoreColor } from "./colors.js";
import { button, choice } from "./controls.js";
import { number, percent, shortened } from "./draw.js";
import { h } from "./page.js";
import { chosenToken, range } from "./relations.js";
import { probabilities } from "./sampling.js";

const SCALES = ["letters", "model", "block", "head", "dot product", "numbers"];
export const LAST = SCALES.length - 1;
const MOST_KEYS = 12; // keys of a head

const digits = (x) => (Math.abs(x) < 10 ? number(x) : number(x, 1));
const norm = (x) => Math.hypot(...x);
const best = (values) => values.reduce((a, value, i) => (value > values[a] ? i : a), 0);

// Numbers as colors in a row: violet above zero, brown below; the largest has the deepest color.
function strip(values, largest, words) {
  const stops = Array.from(values, (value, i) => {
    const ends = [i, i + 1].map((at) => `${((100 * at) / values.length).toFixed(2)}%`);
    return `${scoreColor(value, largest)} ${ends.join(" ")}`;
  });
  return h("span", { class: "strip", role: "img", "aria-label": words, style: `background:linear-gradient(90deg,${stops})` });
}

const entry = (name, shown, value, choose, here) =>
  h(
    "li",
    {},
    choose
      ? button(name, choose, { class: "name", "aria-pressed": String(Boolean(here)) })
      : h("span", { class: "name" }, name),
    shown,
    h("span", { class: "percent" }, value),
  );

const bar = (share) => h("span", { class: "track" }, h("span", { class: "bar", style: `width:${100 * share}%` }));

// What is seen of a token: the one that is chosen, in the chosen head, towards the key that it asks most, or another.
export function seen(state) {
  const { model, ids, layer, head } = state;
  const i = chosenToken(state);
  if (i < 0) return null;
  const { begin, blocks } = model.follow(ids[i], i);
  const { data, stride } = model.map(layer, head);
  const weights = data.subarray(i * stride, i * stride + i + 1);
  const j = Math.min(state.key ?? best(weights), i);
  const { size, ropeBase } = model;
  const q = blocks[layer].q.subarray(head * size, (head + 1) * size);
  const scores = range(i + 1).map((at) => {
    const k = model.key(layer, head, at);
    return q.reduce((sum, value, c) => sum + value * k[c], 0) / Math.sqrt(size);
  });
  const k = model.key(layer, head, j);
  const products = q.map((value, c) => value * k[c]);
  const pair = best(range(size / 2).map((c) => Math.abs(products[c] + products[c + size / 2])));
  const rate = ropeBase ** ((-2 * pair) / size);
  return { i, j, begin, blocks, weights, scores, q, k, products, pair, rate };
}

function levels(state, tokenizer, set, seen) {
  const { labels, ids, layer, head, model } = state;
  const { i, j, begin, blocks, weights, scores, q, k, products, pair, rate } = seen;
  const quoted = (at) => `“${labels[at]}”`;
  const next = ({ logits }) => probabilities(logits, 1, 1)[0];
  const label = (id) => (tokenizer.ends.has(id) ? "the end" : tokenizer.label(id));
  const would = (end) => `${shortened(label(next(end).id), 12)} ${percent(next(end).p)}`;
  const widest = Math.max(...begin.x.map(Math.abs));
  const block = blocks[layer];
  const largest = Math.max(...[block.before, block.attention, block.network].flatMap((x) => [...x]).map(Math.abs));
  const most = (h) => best(model.map(layer, h).data.subarray(i * model.context, i * model.context + i + 1));
  const listed = range(i + 1)
    .sort((a, b) => weights[b] - weights[a])
    .slice(0, MOST_KEYS)
    .sort((a, b) => a - b);
  const half = q.length / 2;
  const degrees = (angle) => `${Number(((180 / Math.PI) * angle).toPrecision(3))}°`;
  const made = tokenizer.madeOf(ids[i]);
  const hands = [
    ["query", q, i],
    ["key", k, j],
  ].map(([name, x, at]) => {
    const [a, b] = [x[pair], x[pair + half]];
    const [cos, sin] = [Math.cos(at * rate), Math.sin(at * rate)];
    const before = [a * cos + b * sin, b * cos - a * sin];
    return h("li", {}, [
      h("span", { class: "name" }, `${name} of ${shortened(labels[at], 10)}`),
      h(
        "span",
        { class: "formula" },
        `(${before.map(digits).join(", ")}) turned by ${at} × ${degrees(rate)} is (${digits(a)}, ${digits(b)})`,
      ),
    ]);
  });
  const all = scores.reduce((sum, score) => sum + Math.exp(score), 0);
  return [
    {
      said: `The text is cut into tokens; ${quoted(i)} is one of them: number ${ids[i]} of ${tokenizer.tokens.length}. That number chooses a row of the embedding, ${begin.x.length} numbers which training has found.`,
      rows: [
        entry(
          labels[i],
          made
            ? h("span", {}, `${made.parts.map(label).join(" + ")}, merged in round ${made.rank + 1} of the training`)
            : h("span", {}, "no merge: it was there from the start"),
          "",
        ),
        entry(`id ${ids[i]}`, strip(begin.x, widest, "its embedding"), ""),
      ],
    },
    {
      said: `The numbers go through ${blocks.length} blocks. If the model ended after one, what would it say comes after ${quoted(i)}?`,
      rows: [
        entry("embedding", strip(begin.x, norm(begin.x) / 4, "the embedding"), would(begin)),
        ...blocks.map((one, n) =>
          entry(`block ${n}`, strip(one.x, norm(one.x) / 4, `after block ${n}`), would(one), () => set({ layer: n }), n === layer),
        ),
      ],
    },
    {
      said: `A block only adds. In block ${layer}, attention adds a vector of length ${number(norm(block.attention), 1)} to one of ${number(norm(block.before), 1)}, and the network adds one of ${number(norm(block.network), 1)}. ${model.heads} heads share in what attention adds.`,
      rows: [
        entry("comes in", strip(block.before, largest, "what comes in"), number(norm(block.before), 1)),
        entry("+ attention", strip(block.attention, largest, "what attention adds"), number(norm(block.attention), 1)),
        entry("+ network", strip(block.network, largest, "what the network adds"), number(norm(block.network), 1)),
        entry("goes on", strip(block.x, largest, "what goes on"), number(norm(block.x), 1)),
        ...range(model.heads).map((n) => {
          const at = most(n);
          const weight = model.map(layer, n).data[i * model.context + at];
          const asks = h("span", {}, `asks ${shortened(labels[at], 14)} most`);
          return entry(`head ${n}`, asks, percent(weight), () => set({ head: n, key: null }), n === head);
        }),
      ],
    },
    {
      said: `In block ${layer}, head ${head}, ${quoted(i)} asks itself and the ${i} tokens before it. The weights add up to 1${listed.length <= i ? `; here are the ${MOST_KEYS} largest` : ""}. What comes back is the mean of their values, by these weights.`,
      rows: listed.map((at) =>
        entry(shortened(labels[at], 12), bar(weights[at]), percent(weights[at]), () => set({ key: at }), at === j),
      ),
    },
    {
      said: `One weight: ${q.length} numbers of the query of ${quoted(i)} meet ${k.length} of the key of ${quoted(j)}, one by one. Their products add up to ${digits(scores[j] * Math.sqrt(q.length))}; divided by √${q.length}, that is a score of ${digits(scores[j])}. exp(${digits(scores[j])}) is ${percent(weights[j])} of the sum over all ${i + 1} tokens, ${number(all, all < 100 ? 2 : 0)}.`,
      rows: [
        entry("query", strip(q, Math.max(...q.map(Math.abs)), "the query"), ""),
        entry("× key", strip(k, Math.max(...k.map(Math.abs)), "the key"), ""),
        entry("products", strip(products, Math.max(...products.map(Math.abs)), "their products"), ""),
      ],
    },
    {
      said: `Two of these numbers are a pair, ${pair} and ${pair + half}: the pair that counts most here. Before they meet, RoPE turns it by the token's place. What is left in the product is how far the two places are apart: ${i - j}.`,
      rows: [
        ...hands,
        h("li", {}, [
          h("span", { class: "name" }, "product"),
          h(
            "span",
            { class: "formula" },
            `${digits(q[pair])} × ${digits(k[pair])} + ${digits(q[pair + half])} × ${digits(k[pair + half])} = ${digits(products[pair] + products[pair + half])}`,
          ),
        ]),
      ],
    },
  ];
}

// Where a scene of the course shows the same in general: its name, and the state in which to open it.
const scenes = ({ i, j }) => [
  null,
  ["HeadLens", "headlens"],
  ["SplitMerge", "splitmerge"],
  ["MaskPainter", "maskpainter"],
  ["EinsumTracer", "einsumtracer"],
  ["ClockHands", `clock_hands=${encodeURIComponent(JSON.stringify({ query: i, key: j }))}`],
];

export function way(state, tokenizer, set, { gallery, play }) {
  const found = state.left ? null : seen(state);
  const title = h("h2", {}, found ? `The way of ${state.labels[found.i]}, scale by scale` : "The way of one token");
  if (!found) return h("section", { class: "way" }, title, h("p", { class: "hint" }, "First let it stop, or type a word."));
  const { level, labels, layer, head, playing } = state;
  const { said, rows } = levels(state, tokenizer, set, found)[level];
  const scene = gallery && scenes(found)[level];
  const names = [labels[found.i], "model", `block ${layer}`, `head ${head}`, `asks ${labels[found.j]}`, `pair ${found.pair}`];
  const places = Object.fromEntries(SCALES.map((scale, n) => [n, n && n <= level ? names[n] : scale]));
  return h(
    "section",
    { class: "way" },
    title,
    h("p", { class: "hint" }, "From the letters to a single number. Choose another token above, and it goes its own way."),
    h(
      "div",
      { class: "controls" },
      choice("scale", places, level, (to) => set({ level: Number(to), playing: false })),
      button(playing ? "■ Stop" : "▶ Go down", play, {}),
    ),
    h("p", { class: "said" }, said),
    h("ul", { class: level % 2 ? "odd" : "even" }, rows),
    scene ? h("p", { class: "hint" }, "The idea alone, to play with: ", h("a", { href: gallery + scene[1] }, scene[0])) : null,
  );
}

