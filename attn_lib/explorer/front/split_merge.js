import { button, choice } from "./controls.js";
import { BLUE, LINE, ORANGE, SOFT, rect, round, silent, text } from "./draw.js";
import { h } from "./page.js";

const PATHS = {
  "split and merge": "split and merge",
  "wrong view": "the wrong view",
  "wrong merge": "the wrong merge",
};
const tuple = (numbers) => `(${numbers.join(", ")})`;
const cellName = (model, id) => `${model.tokens[Math.floor(id / model.width)][0]}${id % model.width}`;

// Where each cell of a step stands: rows and columns of one grid, or of one grid for each index of axis 1.
function layout(model, step, width) {
  const { shape, cells } = step,
    columns = shape.at(-1),
    rows = shape.at(-2);
  const count = shape.length === 4 ? shape[1] : 1,
    left = 78,
    gap = 14;
  // One size for all steps, so that the grids of each stand in a line, if the page lets them.
  const [, a, b, d] = model.paths["split and merge"][1].shape,
    grids = Math.max(a, b);
  const size = Math.min(34, Math.max(22, (width - left - 4 - (grids - 1) * gap) / (grids * d)));
  const perLine = Math.max(1, Math.floor((width - left + gap) / (columns * size + gap)));
  const places = new Map();
  const panels = [...Array(count).keys()].map((n) => {
    const x = left + (n % perLine) * (columns * size + gap),
      y = 34 + Math.floor(n / perLine) * (rows * size + 34);
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++)
        places.set(cells[(n * rows + i) * columns + j], [x + j * size, y + i * size]);
    return { n, x, y, rows, columns };
  });
  return { panels, places, size, perLine, height: 34 + Math.ceil(count / perLine) * (rows * size + 34) };
}

// A row of a head should be one token. Is there one of several?
const mixed = (model, step) => {
  const { shape, cells } = step,
    columns = shape.at(-1);
  return [...Array(cells.length / columns).keys()].some(
    (row) =>
      new Set(cells.slice(row * columns, (row + 1) * columns).map((id) => Math.floor(id / model.width)))
        .size > 1,
  );
};

const numbers = (model, { path, at }) => model.paths[path][at];

export const scene = {
  name: "split_merge",
  glides: true,
  init: () => ({ path: "split and merge", at: 0 }),
  controls: (model, { path, at }, set) => [
    choice("way", PATHS, path, (path) =>
      set({ path, at: path === "wrong view" ? 1 : path === "wrong merge" ? 3 : 0 }),
    ),
    button("Back", () => set({ at: Math.max(at - 1, 0) }), { "aria-disabled": String(at === 0) }),
    button("Next step", () => set({ at: (at + 1) % model.paths[path].length })),
  ],
  picture(model, { path, at }, width) {
    const steps = model.paths[path],
      step = steps[at],
      { panels, places, size, perLine } = layout(model, step, width);
    const heads = step.shape.length === 4 && (at === 2 || path === "wrong view");
    const bad = step.scrambled;
    const tallest = Math.max(
      ...Object.values(model.paths)
        .flat()
        .map((other) => layout(model, other, width).height),
    );
    const order = [...places.keys()].sort((a, b) => a - b); // always the same, so that cells glide
    const top = 26 + 18 * Math.max(...Object.values(model.paths).map((path) => path.length));
    return {
      height: top + tallest + 46,
      label: "Cells of the tensor at this step",
      nodes: [
        silent(
          steps.map((other, n) =>
            text(0, 12 + n * 18, `${n === at ? "▸" : "  "} ${other.code}`, {
              "font-family": "ui-monospace, Menlo, 'DejaVu Sans Mono', monospace",
              "font-weight": n === at ? 700 : 400,
              fill: n === at ? BLUE : SOFT,
              "font-size": 13,
            }),
          ),
        ),
        h(
          "g",
          { "aria-hidden": "true" },
          order.map((id) => {
            const [x, y] = places.get(id);
            return h(
              "g",
              {
                transform: `translate(${round(x)} ${round(y + top)})`,
                style: `transform:translate(${round(x)}px,${round(y + top)}px)`,
              },
              rect(0.5, 0.5, size - 1, size - 1, { fill: model.colors[Math.floor(id / model.width)], rx: 3 }),
              text(size / 2, size / 2, cellName(model, id), {
                "text-anchor": "middle",
                fill: "#000000",
                "font-size": Math.min(12, size / 2.4),
              }),
            );
          }),
        ),
        silent(
          panels.map(({ n, x, y, rows, columns }) => [
            step.shape.length === 4
              ? text(x, y + top - 10, heads ? `head ${n}` : (model.tokens[n] ?? n), { fill: SOFT })
              : null,
            rect(x - 1.5, y + top - 1.5, columns * size + 3, rows * size + 3, {
              fill: "none",
              stroke: bad ? ORANGE : LINE,
              "stroke-width": bad ? 2.5 : 1.5,
              rx: 4,
            }),
            n % perLine
              ? null
              : [...Array(rows).keys()].map((i) =>
                  text(
                    70,
                    y + top + (i + 0.5) * size,
                    step.shape.length === 3 || heads ? (model.tokens[i] ?? "") : `head ${i}`,
                    { "text-anchor": "end", fill: SOFT },
                  ),
                ),
          ]),
          text(0, top + tallest + 10, `shape ${tuple(step.shape)}`, { "font-weight": 600 }),
          text(
            0,
            top + tallest + 30,
            `strides ${tuple(step.strides)}${step.contiguous ? "" : ", not contiguous"}`,
            { fill: SOFT },
          ),
          bad
            ? text(width, top + tallest + 10, "scrambled", {
                "text-anchor": "end",
                "font-weight": 700,
                fill: ORANGE,
              })
            : null,
        ),
      ],
    };
  },
  summary(model, { path, at }) {
    const steps = model.paths[path],
      step = steps[at];
    const rows = step.shape.length === 4 ? step.shape[2] : step.shape[1],
      columns = step.shape.at(-1);
    const listed = [...Array(rows).keys()].map((i) =>
      step.cells
        .slice(i * columns, (i + 1) * columns)
        .map((id) => cellName(model, id))
        .join(" "),
    );
    const first =
      step.shape.length === 4
        ? `The first grid, row by row: ${listed.join("; ")}.`
        : `Row by row: ${listed.join("; ")}.`;
    const verdict = !step.scrambled
      ? ""
      : mixed(model, step)
        ? " The shape is right, but a row holds cells of several tokens."
        : " The shape is right, but a row no longer belongs to its token.";
    return `Step ${at + 1} of ${steps.length}, ${step.code}: shape ${tuple(step.shape)}, strides ${tuple(step.strides)}. ${first}${verdict}`;
  },
  numbers,
};
