// What both live pages show: tokens as chips, one head large, all heads small.

import { percent } from "./draw.js";
import { cells, colorScale } from "./heat.js";
import { h } from "./page.js";
import { chosenToken, range, relations, summary } from "./relations.js";

// --- Moving among chips or heads: one tab stop, then the arrow keys ---

function walk(event, i, columns) {
  const places = [...event.currentTarget.parentElement.closest("[data-walk]").querySelectorAll("[data-place]")];
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  const goal = { Home: 0, End: places.length - 1 }[event.key] ?? (step && i + step);
  if (goal === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  places[goal]?.focus();
}

const place = (i, chosen, columns, choose) => ({
  "data-place": i,
  tabindex: chosen ? 0 : -1,
  onfocus: choose,
  onclick: choose,
  onkeydown: (event) => walk(event, i, columns),
});

function chips(state, set) {
  const { labels, model } = state;
  const { asks, asked } = relations(state);
  const at = chosenToken(state);
  const name = { class: "chips", role: "listbox", "aria-label": "tokens", "aria-orientation": "horizontal" };
  return h(
    "div",
    { ...name, "data-walk": true },
    labels.map((label, i) => {
      const [to, from] = [asks[i] ?? null, asked[i] ?? 0];
      const light = Math.round(100 * Math.sqrt(to ?? 0)); // as in the heat maps
      const said = [label, to !== null && `is asked: ${percent(to)}`, from >= 0.005 && `asks: ${percent(from)}`];
      return h(
        "span",
        {
          class: light > 40 ? "chip lit" : "chip",
          role: "option",
          "aria-selected": String(i === at),
          "aria-label": said.filter(Boolean).join(", "),
          style: `--light:${light}%`,
          ...place(i, i === Math.max(at, 0), 1, () => i < model.length && set({ at: i })),
        },
        h("span", { class: "word" }, label),
        from >= 0.03 ? h("span", { class: "by", style: `width:${Math.round(100 * from)}%` }) : null,
      );
    }),
  );
}

export const textArea = (rows, value, type) =>
  h("textarea", {
    ...{ id: "text", rows, value, spellcheck: "false", autocapitalize: "off", autocomplete: "off" },
    oninput: (event) => type(event.target.value),
  });

// What stands below the text: its tokens, one head large, all heads small.
export const pictures = ({ layers, heads }, state, set, { reads, limit, more }) => [
  h(
    "section",
    { class: "tokens" },
    h("h2", {}, "Its tokens: whom does one ask?"),
    h("p", { class: "hint" }, `${reads} To ask a token is to take this share of what comes from it: the attention weight. Tap or click one, or walk with the arrow keys.`),
    chips(state, set),
    limit ? h("p", { class: "limit" }, limit) : null,
    h(
      "p",
      { class: "legend" },
      h("span", { class: "marked" }, "marked"),
      " is what the framed token asks; ",
      h("span", { class: "by sample" }),
      " shows who asks it, the longer the more.",
    ),
  ),
  h(
    "section",
    { class: "one" },
    h("h2", {}, `Layer ${state.layer}, head ${state.head}`),
    largeMap(state, set),
    h(
      "div",
      { class: "scale", "aria-hidden": "true", style: `background:linear-gradient(90deg,${colorScale})` },
      [0, 0.05, 0.2, 0.5, 1].map((w) => h("span", { style: `left:${100 * Math.sqrt(w)}%` }, w)),
    ),
  ),
  h(
    "section",
    { class: "all" },
    h("h2", {}, `All ${layers * heads} heads, at once`),
    h("p", { class: "hint" }, "Each reads the text in its own way. A row is a layer; choose a head as you choose a token."),
    headGrid({ layers, heads }, state, set),
    h("h2", {}, "What the chosen head does"),
    h("p", { class: "summary" }, summary(state)),
    more || null,
  ),
];

const largeMap = (state, set) =>
  h("canvas", {
    class: "map",
    role: "img",
    "aria-label": `Heat map. ${summary(state) || "Nothing to show yet."}`,
    onclick: (event) => {
      const { top, size } = cells(event.target, state.model.length);
      const row = Math.floor((event.offsetY - top) / size);
      if (row >= 0 && row < state.model.length) set({ at: row });
    },
  });

const headGrid = ({ layers, heads }, state, set) =>
  h(
    "div",
    { class: "heads", role: "radiogroup", "aria-label": "head", "data-walk": true, style: `--heads:${heads}` },
    ["", ...range(heads)].map((head) => h("span", { class: "layer", "aria-hidden": "true" }, head)),
    range(layers).map((layer) => [
      h("span", { class: "layer", "aria-hidden": "true" }, layer),
      range(heads).map((head) => {
        const here = layer === state.layer && head === state.head;
        const name = { role: "radio", "aria-checked": String(here), "aria-label": `layer ${layer}, head ${head}` };
        const choose = () => set({ layer, head });
        const thumb = h("canvas", { class: "thumb", width: 1, height: 1 });
        return h("span", { class: "head", ...name, ...place(layer * heads + head, here, heads, choose) }, thumb);
      }),
    ]),
  );
