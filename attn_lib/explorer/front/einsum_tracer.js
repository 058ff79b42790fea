import { button, slider } from "./controls.js";
import { BLUE, INK, ORANGE, PALE_BLUE, PALE_ORANGE, SOFT, number, rect, silent, text } from "./draw.js";
import { grid } from "./grid.js";

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);
const range = (n) => [...Array(n).keys()];
const short = (x) => number(x, 2).replace(/\.?0+$/, "") || "0";

// The index of each letter at a flat position, the last letter running fastest.
function unravel(flat, letters, sizes) {
  return [...letters].reduceRight((index, letter) => {
    const at = flat % sizes[letter];
    flat = Math.floor(flat / sizes[letter]);
    return { [letter]: at, ...index };
  }, {});
}
const ravel = (index, letters, sizes) =>
  [...letters].reduce((flat, letter) => flat * sizes[letter] + index[letter], 0);

function terms(model, at) {
  const {
    sizes,
    summed,
    tensors: [a, b, out],
  } = model;
  const fixed = unravel(at, out.letters, sizes);
  return range(product(summed.map((letter) => sizes[letter]))).map((n) => {
    const index = { ...fixed, ...unravel(n, summed, sizes) };
    const [i, j] = [ravel(index, a.letters, sizes), ravel(index, b.letters, sizes)];
    return { index, a: i, b: j, product: a.values[i] * b.values[j] };
  });
}

function numbers(model, { at, step }) {
  const all = terms(model, at);
  return {
    step,
    sum: all.slice(0, step).reduce((sum, term) => sum + term.product, 0),
    total: all.reduce((sum, term) => sum + term.product, 0),
  };
}

// A tensor as grids: the last two axes of each, one grid for each index of the axes before them.
function panels(tensor, sizes) {
  const { letters } = tensor;
  const [row, column] = [letters.length > 1 ? letters.at(-2) : null, letters.at(-1)];
  const [rows, columns] = [row ? sizes[row] : 1, sizes[column]];
  return range(tensor.values.length / (rows * columns)).map((n) => {
    const before = unravel(n, letters.slice(0, -2), sizes);
    const where = Object.entries(before)
      .map(([letter, i]) => `${letter}=${i}`)
      .join(" ");
    return { tensor, rows, columns, row, column, first: n * rows * columns, where };
  });
}

const written = (tensor, index) =>
  `${tensor.name}[${[...tensor.letters].map((letter) => index[letter]).join(",")}]`;

export const scene = {
  name: "einsum_tracer",
  init: () => ({ at: 0, step: 1 }),
  controls(model, { at, step }, set) {
    const count = terms(model, at).length,
      cells = model.tensors[2].values.length;
    return [
      slider(
        `step along ${model.summed.join(", ")}`,
        { min: 0, max: count, value: step, text: `${step} of ${count}` },
        (step) => set({ step }),
      ),
      button("Next step", () => set(step < count ? { step: step + 1 } : { at: (at + 1) % cells, step: 1 })),
    ];
  },
  picture(model, { at, step }, width, set) {
    const { sizes, summed, tensors } = model,
      out = tensors[2];
    const all = terms(model, at),
      now = all[step - 1],
      done = all.slice(0, step);
    const sum = numbers(model, { at, step }).sum;
    const widest = Math.max(...tensors.map((tensor) => sizes[tensor.letters.at(-1)]));
    const gap = 20,
      size = Math.min(34, Math.max(26, ((width - gap) / 2 - 18) / widest)),
      nodes = []; // two grids beside each other

    // The letters: what stays, what is summed, and where each stands now.
    const index = now?.index ?? {
      ...unravel(at, out.letters, sizes),
      ...Object.fromEntries(summed.map((letter) => [letter, "–"])),
    };
    const chips = Math.floor((width + 8) / 62);
    Object.keys(sizes).forEach((letter, n) => {
      const isSummed = summed.includes(letter);
      const [x, y] = [(n % chips) * 62, Math.floor(n / chips) * 48];
      nodes.push(
        silent(
          rect(x, y, 54, 40, { rx: 8, fill: isSummed ? PALE_ORANGE : PALE_BLUE }),
          text(x + 27, y + 13, `${letter} = ${index[letter]}`, {
            "text-anchor": "middle",
            "font-weight": 600,
            "font-size": 13,
          }),
          text(x + 27, y + 29, isSummed ? "summed" : "stays", {
            "text-anchor": "middle",
            "font-size": 11,
            fill: isSummed ? ORANGE : BLUE,
          }),
        ),
      );
    });

    let [x, y, tall] = [0, 10 + 48 * Math.ceil(Object.keys(sizes).length / chips), 0];
    for (const panel of tensors.flatMap((tensor) => panels(tensor, sizes))) {
      const { tensor, rows, columns, first } = panel;
      const wide = Math.max(18 + columns * size, (tensor.name + panel.where).length * 7 + 12);
      if (x > 0 && (x + wide > width || (tensor === out && first === 0 && width < 560)))
        [x, y, tall] = [0, y + tall, 0];
      const cellAt = (i, j) => first + i * columns + j;
      const used = tensor === tensors[0] ? "a" : "b";
      const cell = (i, j) => {
        const flat = cellAt(i, j),
          value = tensor.values[flat];
        if (tensor === out) {
          const chosen = flat === at;
          return {
            fill: chosen ? PALE_BLUE : "var(--panel)",
            words: short(chosen ? sum : value),
            ink: chosen ? INK : SOFT,
            selected: chosen,
            stroke: chosen ? BLUE : null,
            label: `${written(out, unravel(flat, out.letters, sizes))} = ${short(value)}`,
          };
        }
        const inRow = all.some((term) => term[used] === flat),
          current = now?.[used] === flat;
        return {
          fill: inRow ? PALE_ORANGE : "var(--panel)",
          words: short(value),
          ink: inRow ? INK : SOFT,
          stroke: current ? ORANGE : null,
        };
      };
      const choose = (i, j) => cellAt(i, j) !== at && set({ at: cellAt(i, j), step: 1 });
      const inside = at >= first && at < first + rows * columns;
      nodes.push(
        silent(
          text(x + 16, y + 6, tensor.name, { "font-weight": 600 }),
          text(x + 16 + tensor.name.length * 7.6 + 6, y + 6, panel.where, { fill: SOFT, "font-size": 11 }),
          panel.row
            ? text(x + 7, y + 30 + (rows * size) / 2, panel.row, {
                "text-anchor": "middle",
                "font-weight": 600,
                fill: summed.includes(panel.row) ? ORANGE : BLUE,
              })
            : null,
          text(x + 16 + (columns * size) / 2, y + 21, panel.column, {
            "text-anchor": "middle",
            "font-weight": 600,
            fill: summed.includes(panel.column) ? ORANGE : BLUE,
          }),
        ),
        grid({
          x: x + 16,
          y: y + 30,
          size,
          rows,
          columns,
          cell,
          label: `${tensor.name} ${panel.where}`,
          ...(tensor === out && {
            at: inside ? [Math.floor((at - first) / columns), (at - first) % columns] : [0, 0],
            move: choose,
            pick: choose,
          }),
        }),
      );
      x += wide + gap;
      tall = Math.max(tall, 30 + rows * size + 22);
    }
    y += tall + 4;

    // The sum so far, as many terms a line as fit.
    const lead = `${written(out, unravel(at, out.letters, sizes))} = `;
    const parts = done.map(
      (term) => `${short(tensors[0].values[term.a])} × ${short(tensors[1].values[term.b])}`,
    );
    const lines = [""];
    parts.forEach((part, n) => {
      const next = (n ? " + " : "") + part;
      if ((lead + lines.at(-1) + next).length * 7.4 > width) lines.push("");
      lines[lines.length - 1] += next;
    });
    nodes.push(
      silent(
        text(0, y, lead + (parts.length ? lines[0] : "0"), { "font-size": 13 }),
        lines.slice(1).map((words, n) => text(24, y + 20 * (n + 1), words, { "font-size": 13 })),
        parts.length
          ? text(24, y + 20 * lines.length, `= ${short(sum)}${step < all.length ? ", so far" : ""}`, {
              "font-size": 13,
              "font-weight": 600,
            })
          : null,
      ),
    );
    const most = Math.ceil((all.length * 11 * 7.4) / width) + 2; // so that the picture keeps its height
    return {
      height: y + 20 * most,
      label: `${model.equation}: choose a number of ${out.name}`,
      interactive: true,
      nodes,
    };
  },
  summary(model, state) {
    const { at, step } = state,
      [a, b, out] = model.tensors,
      all = terms(model, at),
      now = all[step - 1];
    const { sum } = numbers(model, state),
      cell = written(out, unravel(at, out.letters, model.sizes));
    if (!now)
      return `${cell}: nothing added yet. ${[...out.letters].join(", ")} stay fixed; ${model.summed.join(", ")} will run.`;
    return (
      `${cell}, step ${step} of ${all.length}: ${written(a, now.index)} × ${written(b, now.index)} = ` +
      `${short(a.values[now.a])} × ${short(b.values[now.b])} = ${short(now.product)}. Sum ${step < all.length ? "so far " : ""}${short(sum)}. ` +
      `Only ${model.summed.join(", ")} ran; ${[...out.letters].join(", ")} stayed.`
    );
  },
  numbers,
};
