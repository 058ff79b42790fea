// What holds a live page together: its data, light and dark, and how it is drawn.

import { button } from "./controls.js";
import { heatMap, thumbnail } from "./heat.js";
import { keep } from "./link.js";
import { h, patch } from "./page.js";
import { chosenToken, range } from "./relations.js";

export const about = () => JSON.parse(document.getElementById("about").textContent);

export function bytes(base64) {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
}

// The weights of a language model: in the page, or in a script beside it that is loaded once a visitor asks for it.
export function wake({ weights, weights_size }, root) {
  const inside = document.getElementById("weights").textContent;
  if (inside) return inside;
  const size = `${(weights_size / 1e6).toFixed(1)} MB`;
  return new Promise((resolve) => {
    const say = (words, ...more) => patch(root, [h("section", { class: "type" }, h("p", { role: "status" }, words), more)]);
    const load = () => {
      say(`${size} are on their way …`);
      const onload = () => resolve(globalThis.weights);
      const onerror = () => say("The weights did not come.", button("Try again", load, { class: "go" }));
      document.head.append(Object.assign(document.createElement("script"), { src: weights, onload, onerror }));
    };
    if (location.hash.length > 1) return load(); // somebody has sent what is to be seen
    say(`It is asleep: its numbers are a file of ${size}.`, button("▶ Wake the model", load, { class: "go" }));
  });
}

const dark = matchMedia("(prefers-color-scheme: dark)");
let chosen = null; // by the button, or before on the course's site; else what the system says
try {
  const before = about().gallery && localStorage.getItem("theme");
  if (before === "dark" || before === "light") chosen = before;
} catch {
  // no storage
}

function setTheme() {
  document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
}
setTheme();

// Follow the system, and the button that is returned.
export function followTheme(draw) {
  const isDark = () => document.documentElement.dataset.theme === "dark";
  dark.addEventListener("change", () => (setTheme(), draw()));
  return () =>
    button("Dark", () => ((chosen = isDark() ? "light" : "dark"), setTheme(), draw()), {
      class: "theme",
      "aria-pressed": String(isDark()),
    });
}

// Put what is shown into the page's address, so that it can be sent to somebody. What stands behind # is sent to no server.
let keeping;
export function keepSoon(view) {
  clearTimeout(keeping);
  keeping = setTimeout(() => keep("view", view()), 500);
}

// What an address may say of it: a text, not too long, and a head that there is.
export const LONGEST = 2000; // characters
export const isBelow = (value, end) => Number.isInteger(value) && value >= 0 && value < end;
export const hasTextAndHead = ({ text, layer, head }, { layers, heads }) =>
  typeof text === "string" && text.length <= LONGEST && isBelow(layer, layers) && isBelow(head, heads);

const HURRY = 400; // milliseconds between the small maps while the model writes: they cost the most
let [painted, paintedAt] = [-1, 0];
let timer;
let said = "";

// Match the page to a description, paint what is on its canvases, and later say what has changed.
export function show(root, nodes, { layers, heads }, state, news, hurried = false) {
  patch(root, [...nodes, h("p", { class: "heard", role: "status" }, said)]);
  clearTimeout(timer); // what goes on changing is not read out
  timer = setTimeout(() => {
    root.querySelector("[role=status]").textContent = said = news();
  }, 700);
  const { model, causal, version, layer, head } = state;
  const n = model.length;
  const map = (layer, head) => (n ? model.map(layer, head) : null);
  const thumbs = root.querySelectorAll(".thumb");
  const paint = (layer, head) => thumbnail(thumbs[layer * heads + head], map(layer, head), n, causal);
  if (painted !== version && !(hurried && performance.now() - paintedAt < HURRY)) {
    range(layers).forEach((i) => range(heads).forEach((j) => paint(i, j)));
    [painted, paintedAt] = [version, performance.now()];
  } else paint(layer, head);
  const shown = { map: map(layer, head), n, labels: state.labels.slice(0, n), at: chosenToken(state), causal };
  heatMap(root.querySelector(".map"), thumbs[layer * heads + head], shown);
}
