import { button, choice, slider } from "./controls.js";
import { dial } from "./dial.js";
import { BLUE, LINE, ORANGE, PALE_BLUE, SOFT, line, number, rect, round, silent, text } from "./draw.js";
import { h } from "./page.js";
import {
  degrees,
  halfTurn,
  hand,
  numbers,
  pairsOf,
  range,
  rate,
  rateWords,
  score,
  total,
  whole,
} from "./turning.js";

const SPAN = 31; // of the positions that a slider reaches
const turns = (n) => `${whole(n)} turn${n === 1 ? "" : "s"}`;

// The angle of a hand that started at 0, as whole turns and what is left.
function turnedBy(model, pair, position) {
  const angle = position * degrees(rate(model, pair)),
    full = Math.floor(angle / 360);
  const left = `${number(angle - 360 * full, 1)}°`;
  return `${whole(position)} × ${rateWords(model, pair, 6)} = ${full ? `${turns(full)} + ` : ""}${left}`;
}

function facts(model, state, x, y, width) {
  const { query, key, pair } = state,
    difference = query - key,
    { angle, scores } = numbers(model, state);
  const [q, k] = [hand(model, model.q, pair, 0), hand(model, model.k, pair, 0)];
  const start = halfTurn(q.angle - k.angle),
    unwound = start + difference * degrees(rate(model, pair)),
    full = Math.round((unwound - angle) / 360);
  const rest = full ? ` ${full > 0 ? "−" : "+"} ${turns(Math.abs(full))}` : "";
  const narrow = width < 400,
    small = { "font-size": width < 340 ? 10 : narrow ? 11 : 12 };
  const rows = [
    [narrow ? "q turned" : "q turned by", turnedBy(model, pair, query), BLUE],
    [narrow ? "k turned" : "k turned by", turnedBy(model, pair, key), ORANGE],
    [
      narrow ? "angle" : "angle from k to q",
      `${number(start, 1)}° ${difference < 0 ? "−" : "+"} ${Math.abs(difference)} × ${rateWords(model, pair, 6)}${rest} = ${number(angle, 1)}°`,
    ],
    [
      narrow ? "score" : `score of pair ${pair}`,
      `${number(q.length)} × ${number(k.length)} × cos ${number(angle, 1)}° = ${number(scores[pair])}`,
    ],
  ];
  return silent(
    rows.map(([name, value, color], n) => {
      const top = y + n * 26 + (n > 1 ? 18 : 0);
      return [
        n % 2
          ? null
          : text(x, top - 2, n ? "depends on the difference alone" : "depends on a position", {
              fill: SOFT,
              "font-size": 11,
            }),
        rect(x, top + 8, width, 24, { fill: n > 1 ? PALE_BLUE : "var(--panel)", rx: 5 }),
        color && rect(x, top + 8, 4, 24, { fill: color }),
        text(x + 10, top + 20, name, small),
        text(x + width - 8, top + 20, value, {
          ...small,
          "text-anchor": "end",
          "font-weight": n > 1 ? 700 : 400,
        }),
      ];
    }),
  );
}

// All pairs as small dials, their scores, and the sum: q · k.
function addition(model, state, set, x, y, width) {
  const count = pairsOf(model),
    { scores, total } = numbers(model, state);
  const step = Math.min(width / (count + 0.8), 110),
    radius = Math.min(30, step / 2 - 9);
  return h(
    "g",
    { "aria-hidden": "true" },
    range(count).map((c) => {
      const middle = x + (c + 0.5) * step,
        chosen = c === state.pair;
      return h(
        "g",
        { style: "cursor:pointer", onclick: () => set({ pair: c, moved: 0 }) },
        rect(middle - step / 2 + 3, y, step - 6, 2 * radius + 46, {
          fill: chosen ? PALE_BLUE : "var(--paper)",
          rx: 6,
        }),
        text(middle, y + 11, `pair ${c}`, {
          "text-anchor": "middle",
          "font-size": 11,
          "font-weight": chosen ? 700 : 400,
        }),
        dial(model, state, c, middle, y + 24 + radius, radius, false),
        text(middle, y + 2 * radius + 36, number(scores[c]), {
          "text-anchor": "middle",
          "font-weight": chosen ? 700 : 400,
        }),
        c ? text(middle - step / 2, y + 2 * radius + 36, "+", { "text-anchor": "middle", fill: SOFT }) : null,
      );
    }),
    text(x + count * step + 2, y + 2 * radius + 36, `= ${number(total)}`, { "font-weight": 700 }),
    text(x + count * step + 12, y + 24 + radius, "q · k", { "font-weight": 700 }),
  );
}

// q · k at every difference of positions, and where we are.
function chart(model, { query, key, pair }, x, y, width, height) {
  const here = query - key,
    fine = range(8 * SPAN + 1).map((n) => n / 4 - SPAN);
  const lines = [
    [(d) => score(model, pair, d), { stroke: SOFT, "stroke-dasharray": "4 3" }],
    [(d) => total(model, d), { stroke: BLUE, "stroke-width": 2 }],
  ];
  const reached = lines.flatMap(([f]) => fine.map(f)),
    high = Math.max(...reached, 0.1),
    low = Math.min(...reached, -0.1);
  const left = x + 26,
    px = (d) => left + ((d + SPAN) / (2 * SPAN)) * (width - 34),
    foot = y + height - 34,
    py = (v) => y + 26 + ((high - v) / (high - low)) * (foot - y - 26);
  return silent(
    text(x, y + 8, "q · k", { "font-weight": 600, fill: BLUE }),
    text(x + 40, y + 8, `and, dashed, pair ${pair} alone`, { fill: SOFT }),
    line(
      [
        [left, py(0)],
        [px(SPAN), py(0)],
      ],
      { stroke: LINE },
    ),
    text(left - 6, py(0), "0", { "text-anchor": "end", fill: SOFT, "font-size": 11 }),
    [-30, -20, -10, 0, 10, 20, 30].map((d) => [
      line(
        [
          [px(d), foot],
          [px(d), foot + 4],
        ],
        { stroke: SOFT },
      ),
      text(px(d), foot + 12, whole(d), { "text-anchor": "middle", fill: SOFT, "font-size": 11 }),
    ]),
    line(
      [
        [px(here), y + 20],
        [px(here), foot],
      ],
      { stroke: ORANGE, "stroke-dasharray": "2 3" },
    ),
    lines.map(([f, look]) =>
      line(
        fine.map((d) => [px(d), py(f(d))]),
        look,
      ),
    ),
    lines.map(([f]) => h("circle", { cx: round(px(here)), cy: round(py(f(here))), r: 5, fill: ORANGE })),
    text(left + (px(SPAN) - left) / 2, foot + 28, "position of the query − position of the key", {
      "text-anchor": "middle",
      fill: SOFT,
    }),
  );
}

// Where both have moved out of a slider's reach, its reach moves along.
const both = ({ query, key, first, moved }, by) => {
  const far = Math.max(query, key) + by - SPAN;
  return {
    query: query + by,
    key: key + by,
    first: by > 1 ? first + by : Math.max(first, far),
    moved: moved + by,
  };
};

export const scene = {
  name: "clock_hands",
  init: ({ positions: [query, key], pair }) => ({ query, key, pair, first: 0, moved: 0 }),
  controls(model, state, set) {
    const { query, key, pair, first } = state;
    const place = (name, value, change) =>
      slider(`position of ${name}`, { min: first, max: first + SPAN, value, text: whole(value) }, change);
    return [
      place("the query", query, (query) => set({ query, moved: 0 })),
      place("the key", key, (key) => set({ key, moved: 0 })),
      choice(
        "pair and its turn",
        Object.fromEntries(range(pairsOf(model)).map((c) => [c, `${c}: ${rateWords(model, c)}`])),
        pair,
        (pair) => set({ pair: Number(pair), moved: 0 }),
      ),
      button("Both +1", () => set(both(state, 1))),
      button("Both +1000", () => set(both(state, 1000))),
    ];
  },
  picture(model, state, width, set) {
    const wide = width >= 560,
      { pair } = state,
      radius = wide ? 104 : Math.min(100, width / 2 - 52);
    const middle = wide ? 122 : width / 2 - 12,
      left = wide ? 322 : 0,
      room = width - left;
    const below = wide ? [left, 164] : [0, 2 * radius + 212],
      last = wide ? 266 : below[1] + 116;
    return {
      height: last + 176,
      label: `A dial with the two hands of pair ${pair}, the score of each pair, and q · k at every difference of positions`,
      nodes: [
        silent(
          text(middle, 10, `channel ${pair + pairsOf(model)}`, {
            "text-anchor": "middle",
            fill: SOFT,
            "font-size": 11,
          }),
          text(middle + radius + 6, radius + 22, `channel ${pair}`, { fill: SOFT, "font-size": 11 }),
          dial(model, state, pair, middle, radius + 22, radius, true),
          text(middle, 2 * radius + 38, "dashed: at position 0", {
            "text-anchor": "middle",
            fill: SOFT,
            "font-size": 11,
          }),
        ),
        facts(model, state, left, wide ? 10 : 2 * radius + 66, room),
        addition(model, state, set, ...below, room),
        chart(model, state, 0, last, width, 170),
      ],
    };
  },
  summary(model, state) {
    const { query, key, pair, angle, scores, total } = numbers(model, state);
    const moved = `Both have moved by ${whole(state.moved)}: the hands have turned, and nothing else has changed. `;
    return (
      `Query at ${whole(query)}, key at ${whole(key)}: a difference of ${whole(query - key)}. ${state.moved ? moved : ""}` +
      `Pair ${pair} turns by ${rateWords(model, pair)} at each position. The angle between its hands is ${number(angle, 1)}°, ` +
      `its score ${number(scores[pair])}` +
      (scores.length > 1 ? `; all ${scores.length} pairs together give q · k = ${number(total)}.` : ".")
    );
  },
  note: () =>
    "RoPE takes the numbers (channels) of a query or key two by two: a pair is a hand on a dial, and each position turns it " +
    "on, each pair at a speed of its own. A pair's score is the product of its two hands; q · k is the sum of all.",
  numbers,
};
