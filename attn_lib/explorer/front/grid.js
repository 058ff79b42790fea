// Cells in rows and columns: looked at, walked with the arrow keys, painted; and heat maps made of them.

import { inkOn } from "./colors.js";
import { INK, SOFT, longest, rect, round, shortened, silent, text } from "./draw.js";
import { h } from "./page.js";

const hatch = (x, y, s) => [
  rect(x, y, s, s, { fill: "#dddddd" }),
  h("path", {
    d: [0.25, 0.5, 0.75, 1]
      .map(
        (t) =>
          `M${round(x)} ${round(y + t * s)}L${round(x + t * s)} ${round(y)}` +
          (t < 1 ? `M${round(x + t * s)} ${round(y + s)}L${round(x + s)} ${round(y + t * s)}` : ""),
      )
      .join(""),
    stroke: "#8a8a8a",
    "stroke-width": 1,
    fill: "none",
  }),
];

// Cells in rows and columns. cell(i, j) gives {fill, words, ink, masked, stroke, label, selected}. With
// `move`, the cells are one tab stop, the arrow keys walk on from `at`, and Enter, Space or a click picks.
export function grid({ x, y, size, rows, columns, cell, label, at, move, pick, props }) {
  const draw = (i, j) => {
    const { fill = "none", words = "", ink, masked, stroke } = cell(i, j);
    const [left, top] = [x + j * size, y + i * size];
    const inset = stroke ? 1.5 : 0; // a frame that the next cell does not cover
    return [
      masked ? hatch(left, top, size) : null,
      rect(left + inset, top + inset, size - 2 * inset, size - 2 * inset, {
        fill: masked ? "transparent" : fill,
        stroke: stroke ?? "var(--paper)",
        "stroke-width": stroke ? 2.5 : size < 14 ? 0.4 : 1,
        class: "cell",
      }),
      words !== "" && size >= 20
        ? text(left + size / 2, top + size / 2, words, {
            "text-anchor": "middle",
            "font-size": Math.min(12, size / 2.4),
            fill: ink ?? (fill.startsWith("#") ? inkOn(fill) : INK),
            ...(masked && { fill: "#000000", stroke: "#dddddd", "stroke-width": 3, "paint-order": "stroke" }),
          })
        : null,
    ];
  };
  const range = (n) => [...Array(n).keys()];
  if (!move) return silent(range(rows).map((i) => range(columns).map((j) => draw(i, j))));
  return h(
    "g",
    { role: "grid", "aria-label": label, class: "grid" },
    range(rows).map((i) =>
      h(
        "g",
        { role: "row" },
        range(columns).map((j) =>
          h(
            "g",
            {
              role: "gridcell",
              tabindex: i === at[0] && j === at[1] ? 0 : -1,
              "aria-label": cell(i, j).label,
              "aria-selected": cell(i, j).selected === undefined ? null : String(cell(i, j).selected),
              onclick: (event) => {
                move(i, j);
                pick?.(i, j, event);
              },
              onkeydown: (event) => walk(event, i, j, rows, columns, move, pick),
              ...props?.(i, j),
            },
            draw(i, j),
          ),
        ),
      ),
    ),
  );
}

function walk(event, i, j, rows, columns, move, pick) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const goal = {
    ArrowUp: [i - 1, j],
    ArrowDown: [i + 1, j],
    ArrowLeft: [i, j - 1],
    ArrowRight: [i, j + 1],
    Home: [i, 0],
    End: [i, columns - 1],
    PageUp: [0, j],
    PageDown: [rows - 1, j],
  }[event.key];
  if (goal) {
    const [a, b] = [Math.min(Math.max(goal[0], 0), rows - 1), Math.min(Math.max(goal[1], 0), columns - 1)];
    const cells = event.currentTarget.closest("[role=grid]");
    move(a, b);
    cells.children[a].children[b].focus();
  } else if (event.key === "Enter" || event.key === " ") pick?.(i, j, event);
  else return;
  event.preventDefault();
}

const slant = (keys) => keys.some((key) => key.length > 2);

// The room that a heat map's labels take, around its cells.
export const margins = (queries, keys) => ({
  left: 24 + Math.min(longest(queries), 90),
  top: 26,
  bottom: 30 + (slant(keys) ? Math.min(longest(keys), 90) * 0.71 + 4 : 14),
});

// A grid with a title, the queries' names on its left and the keys' below it.
export function heatMap({ x, y, size, queries, keys, title, strong = [], ...rest }) {
  const { left, top } = margins(queries, keys);
  const [x0, y0] = [x + left, y + top];
  const [width, height] = [size * keys.length, size * queries.length];
  const slanted = slant(keys);
  const every = Math.ceil(11 / size); // labels of 11 pixels need that many cells
  const end = y0 + height + margins(queries, keys).bottom - 10;
  return [
    silent(
      text(x0, y + 10, title, { "font-weight": 600 }),
      queries.map((name, i) =>
        i % every && i !== strong[0]
          ? null
          : text(x0 - 6, y0 + (i + 0.5) * size, shortened(name), {
              "text-anchor": "end",
              "font-weight": i === strong[0] ? 700 : 400,
              "font-size": Math.min(12, size * every),
            }),
      ),
      keys.map((name, j) => {
        if (j % every && j !== strong[1]) return null;
        const [tx, ty] = [x0 + (j + 0.5) * size, y0 + height + 9];
        const look = { "font-weight": j === strong[1] ? 700 : 400, "font-size": Math.min(12, size * every) };
        return slanted
          ? text(tx + 3, ty, shortened(name), {
              "text-anchor": "end",
              transform: `rotate(-45 ${round(tx)} ${round(ty)})`,
              ...look,
            })
          : text(tx, ty + 2, name, { "text-anchor": "middle", ...look });
      }),
      text(x0 + width / 2, end, "key (column)", { "text-anchor": "middle", fill: SOFT }),
      text(x + 8, y0 + height / 2, "query (row)", {
        "text-anchor": "middle",
        fill: SOFT,
        transform: `rotate(-90 ${round(x + 8)} ${round(y0 + height / 2)})`,
      }),
    ),
    grid({ x: x0, y: y0, size, rows: queries.length, columns: keys.length, ...rest }),
  ];
}

// A bar of all colors of a map with what its ends mean.
export const colorBar = (x, y, width, color, [low, high], label) =>
  silent(
    [...Array(24).keys()].map((i) =>
      rect(x + (i * width) / 24, y, width / 24 + 0.5, 9, { fill: color(i / 23) }),
    ),
    text(x - 5, y + 5, low, { "text-anchor": "end", "font-size": 11, fill: SOFT }),
    text(x + width + 5, y + 5, high, { "font-size": 11, fill: SOFT }),
    text(x + width / 2, y + 19, label, { "text-anchor": "middle", "font-size": 11, fill: SOFT }),
  );
