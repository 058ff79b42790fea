// What both live pages show: tokens as chips, one head large, all heads small; and what they say.

import { button } from "./controls.js";
import { percent } from "./draw.js";
import { cells, colorScale, heatMap, thumbnail } from "./heat.js";
import { h, patch } from "./page.js";

export const range = (n) => [...Array(n).keys()];
const quoted = (label) => `“${label}”`;

// --- Data in the page ---

export const about = () => JSON.parse(document.getElementById("about").textContent);

export function bytes(base64) {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
}

// --- Light and dark ---

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null; // by the button; else what the system says

// Follow the system, and the button that is returned.
export function followTheme(draw) {
  const update = () => {
    document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
  };
  const isDark = () => document.documentElement.dataset.theme === "dark";
  dark.addEventListener("change", () => (update(), draw()));
  update();
  return () =>
    button("Dark", () => ((chosen = isDark() ? "light" : "dark"), update(), draw()), {
      class: "theme",
      "aria-pressed": String(isDark()),
    });
}

// --- What one token asks, and who asks it ---

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
  return (
    `${said}${by ? `It is asked by ${by}. ` : ""}The whole head gives ${percent(before)} of its weight to the ` +
    `token before, ${percent(first)} to the first one, and ${percent(itself)} to the asking token itself.`
  );
}

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

export function chips(state, set) {
  const { labels, model } = state;
  const { asks, asked } = relations(state);
  const at = chosenToken(state);
  return h(
    "div",
    { class: "chips", role: "listbox", "aria-label": "tokens", "aria-orientation": "horizontal", "data-walk": true },
    labels.map((label, i) => {
      const [to, from] = [asks[i] ?? null, asked[i] ?? 0];
      const light = Math.round(100 * Math.sqrt(to ?? 0)); // as in the heat maps
      return h(
        "span",
        {
          class: light > 40 ? "chip lit" : "chip",
          role: "option",
          "aria-selected": String(i === at),
          "aria-label":
            label + (to === null ? "" : `, is asked: ${percent(to)}`) + (from >= 0.005 ? `, asks: ${percent(from)}` : ""),
          style: `--light:${light}%`,
          ...place(i, i === at || (at < 0 && i === 0), 1, () => i < model.length && set({ at: i })),
        },
        h("span", { class: "word" }, label),
        from >= 0.03 ? h("span", { class: "by", style: `width:${Math.round(100 * from)}%` }) : null,
      );
    }),
  );
}

export const legend = (causal) =>
  h(
    "p",
    { class: "legend" },
    h("span", { class: "marked" }, "marked"),
    " is what the framed token asks; ",
    h("span", { class: "by sample" }),
    " shows who asks it, the longer the more.",
    causal ? " A token can ask only itself and those before it." : "",
  );

export const largeMap = (state, set) => [
  h("canvas", {
    class: "map",
    role: "img",
    "aria-label": `Heat map. ${summary(state)}`,
    onclick: (event) => {
      const { top, size } = cells(event.target, state.model.length);
      const row = Math.floor((event.offsetY - top) / size);
      if (row >= 0 && row < state.model.length) set({ at: row });
    },
  }),
  h(
    "div",
    { class: "scale", "aria-hidden": "true", style: `background:linear-gradient(90deg,${colorScale})` },
    [0, 0.05, 0.2, 0.5, 1].map((w) => h("span", { style: `left:${100 * Math.sqrt(w)}%` }, w)),
  ),
];

export function heads({ layers, heads }, state, set) {
  return h(
    "div",
    { class: "heads", role: "radiogroup", "aria-label": "head", "data-walk": true, style: `--heads:${heads}` },
    range(layers).map((layer) => [
      h("span", { class: "layer", "aria-hidden": "true" }, layer),
      range(heads).map((head) => {
        const here = layer === state.layer && head === state.head;
        return h(
          "span",
          {
            class: "head",
            role: "radio",
            "aria-checked": String(here),
            "aria-label": `layer ${layer}, head ${head}`,
            ...place(layer * heads + head, here, heads, () => set({ layer, head })),
          },
          h("canvas", { class: "thumb", width: 1, height: 1 }),
        );
      }),
    ]),
  );
}

// --- The page ---

const painted = { version: -1, at: 0, late: false };
let timer;
let said = "";

// Match the page to a description, paint what is on its canvases, and later say what has changed.
export function show(root, nodes, { layers, heads }, state, news, hurried = false) {
  patch(root, [...nodes, h("p", { class: "heard", role: "status" }, said)]);
  const { model, causal } = state;
  const n = Math.max(model.length, 0);
  const thumbs = root.querySelectorAll(".thumb");
  const chosen = state.layer * heads + state.head;
  const paint = (i) =>
    thumbnail(thumbs[i], n ? model.map(Math.floor(i / heads), i % heads) : {}, n, causal);
  if (painted.version !== state.version) paint(chosen);
  // While much changes, the small ones are painted ten times a second.
  if (painted.version !== state.version || painted.late) {
    painted.late = hurried && performance.now() - painted.at < 100;
    if (!painted.late) {
      range(layers * heads).forEach((i) => i !== chosen && paint(i));
      painted.at = performance.now();
    }
  }
  painted.version = state.version;
  const small = thumbs[chosen];
  const map = n ? model.map(state.layer, state.head) : null;
  const labels = state.labels.slice(0, n);
  heatMap(root.querySelector(".map"), small, { map, n, labels, at: chosenToken(state), causal });
  clearTimeout(timer); // what goes on changing is not read out
  timer = setTimeout(() => {
    root.querySelector("[role=status]").textContent = said = news();
  }, 700);
}
