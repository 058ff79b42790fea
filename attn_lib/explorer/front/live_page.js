// What holds a live page together: its data, light and dark, and how it is drawn.

import { button } from "./controls.js";
import { heatMap, thumbnail } from "./heat.js";
import { h, patch } from "./page.js";
import { chosenToken, range } from "./relations.js";

export const about = () => JSON.parse(document.getElementById("about").textContent);

export function bytes(base64) {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
}

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
