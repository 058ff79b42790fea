// What the scenes share. A scene is an object with
//   init(model)                          the state it starts in
//   controls(model, state, set)          what stands above the picture, made with h()
//   picture(model, state, width, set)    {height, nodes, label, interactive}: the drawing, as wide as the page lets it be
//   summary(model, state)                the picture in a sentence or two
//   note(model)                          what its numbers are, if that has to be said
//   numbers(model, state)                what it computed, for whoever wants to compare

import { button } from "./controls.js";
import { copyLink } from "./copy_link.js";
import { rect } from "./draw.js";
import { keep, linked } from "./link.js";
import { SVG, h, patch } from "./page.js";

const STYLE = `
:host { display: block; color-scheme: light; --paper: #ffffff; --ink: #1b1f24; --soft: #57606a; --line: #d3d9e0;
  --panel: #f3f5f8; --blue: #0b3c6f; --orange: #b34700; --pale-blue: #cfe0f2; --pale-orange: #fbdcc2; --focus: #0969da; }
:host([data-theme="dark"]) { color-scheme: dark; --paper: #16191e; --ink: #e8ecf1; --soft: #a4adb8; --line: #3b434e;
  --panel: #232830; --blue: #8ebefa; --orange: #ffab66; --pale-blue: #1d3d5f; --pale-orange: #5c3512; --focus: #58a6ff; }
.live { box-sizing: border-box; max-width: 760px; padding: 12px; border: 1px solid var(--line); border-radius: 10px;
  background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.controls { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center; margin-bottom: 8px; }
.slider { display: grid; grid-template-columns: auto minmax(90px, 1fr) auto; gap: 8px; align-items: center; flex: 1 1 240px; }
.slider input { width: 100%; min-width: 0; height: 28px; margin: 0; accent-color: var(--blue); }
.value { min-width: 4.5em; font-variant-numeric: tabular-nums; color: var(--soft); }
fieldset { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; margin: 0; padding: 0; border: 0; min-width: 0; }
legend { float: left; padding: 0 6px 0 0; }
fieldset label { position: relative; }
fieldset input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer; }
.list { display: inline-flex; gap: 6px; align-items: center; }
fieldset span, button, select { display: inline-block; box-sizing: border-box; min-height: 28px; padding: 3px 10px; font: inherit; line-height: 20px;
  border: 1px solid var(--line); border-radius: 7px; background: var(--panel); color: var(--ink); cursor: pointer; }
fieldset input:checked + span, button[aria-pressed="true"] { background: var(--blue); border-color: var(--blue); color: var(--paper); }
button[aria-disabled="true"] { color: var(--soft); cursor: default; }
.toggle { display: inline-flex; gap: 6px; align-items: center; min-height: 28px; cursor: pointer; }
.toggle input { width: 17px; height: 17px; margin: 0; accent-color: var(--blue); }
input:focus-visible, button:focus-visible, select:focus-visible, fieldset input:focus-visible + span { outline: 3px solid var(--focus); outline-offset: 2px; }
svg { display: block; width: 100%; height: auto; font-family: inherit; user-select: none; }
.grid [role="gridcell"] { outline: none; cursor: pointer; }
.grid [role="gridcell"]:focus-visible { outline: 2px solid var(--paper); outline-offset: -2px; } /* two rings: one shows on any color */
.grid [role="gridcell"]:focus-visible .cell { outline: 3px solid var(--focus); outline-offset: -5px; stroke: var(--focus); stroke-width: 3; }
.thumbs { display: flex; flex-wrap: wrap; gap: 4px; width: 100%; } /* 12 in a row of the site */
.thumbs button { padding: 3px; text-align: center; font-size: 11px; line-height: 15px; }
.thumbs img { display: block; width: 46px; height: 46px; image-rendering: pixelated; }
.glide * { transition: x .45s, y .45s, transform .45s; }
.summary { margin: 8px 0 0; min-height: 2.9em; }
.note { margin: 4px 0 0; font-size: 12px; color: var(--soft); }
.tools { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 8px; font-size: 12px; }
.tools button { padding: 2px 8px; }
.heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.still { display: none; }
@media (prefers-reduced-motion: reduce) { .glide * { transition: none; } }
@media print { .live { display: none; } .still { display: block; } }
`;

// "dark" or "light": what JupyterLab, VS Code or the site say, else what the system says.
function theme() {
  const { jpThemeLight, vscodeThemeKind, theme } = document.body.dataset;
  const said = jpThemeLight
    ? { true: "light", false: "dark" }[jpThemeLight]
    : (vscodeThemeKind ?? theme ?? document.documentElement.dataset.theme);
  if (/dark|light/.test(said)) return said.includes("dark") ? "dark" : "light";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function followTheme(host) {
  const weak = new WeakRef(host); // a figure that is gone may be forgotten
  const update = () => {
    const here = weak.deref();
    if (here) here.dataset.theme = theme();
    else watcher.disconnect();
  };
  const watcher = new MutationObserver(update);
  for (const node of [document.body, document.documentElement]) {
    watcher.observe(node, {
      attributeFilter: ["data-theme", "data-jp-theme-light", "data-vscode-theme-kind"],
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
}

// Put the live scene in the place of the picture, wherever this figure stands in the page.
export function mount(scene, id, model) {
  for (const host of document.querySelectorAll(`[data-explorer="${id}"]`)) {
    if (!host.shadowRoot) live(host, scene, model);
  }
}

// Say whether a state can be shown: what comes with an address may be anything.
function canShow(scene, model, state) {
  try {
    scene.controls(model, state, () => {});
    scene.picture(model, state, 600, () => {});
    return Boolean(scene.summary(model, state));
  } catch {
    return false;
  }
}

function live(host, scene, model) {
  const root = host.attachShadow({ mode: "open" });
  host.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab takes the arrow keys
  followTheme(host);
  const before = [...document.querySelectorAll("[data-explorer]")].filter(
    (other) => other.explorer?.name === scene.name,
  );
  const key = scene.name + (before.length || ""); // scenes of one kind are counted
  const begun = scene.init(model);
  const sent = linked(key, (state) => canShow(scene, model, { ...begun, ...state }));
  let state = { ...scene.init(model), ...sent }; // of its own: a scene may write into it
  let width = 0;
  let said = "";
  let timer;

  // What differs from the beginning, and is not just under the mouse.
  function chosen() {
    const differs = ([name, value]) => name !== "over" && JSON.stringify(value) !== JSON.stringify(begun[name]);
    return Object.fromEntries(Object.entries(state).filter(differs));
  }

  function set(change) {
    Object.assign(state, change);
    draw();
    clearTimeout(timer); // a slider that moves is not read out at every step
    timer = setTimeout(() => {
      keep(key, chosen());
      const heard = root.querySelector("[role=status]");
      const now = scene.summary(model, state);
      if (now !== said) heard.textContent = said = now;
    }, 400);
  }

  function keepNow() {
    clearTimeout(timer);
    keep(key, chosen());
  }

  function draw() {
    if (!width) return;
    const { height, nodes, label, interactive } = scene.picture(model, state, width, set);
    const summary = scene.summary(model, state);
    said ||= summary;
    patch(frame, [
      h("div", { class: "controls" }, scene.controls(model, state, set)),
      h(
        "svg",
        {
          viewBox: `0 0 ${width} ${Math.ceil(height)}`,
          "font-size": 12,
          class: scene.glides ? "glide" : null,
          role: interactive ? "group" : "img",
          "aria-label": interactive ? label : `${label}. ${summary}`,
        },
        nodes,
      ),
      h("p", { class: "summary" }, summary),
      ...(scene.note ? [h("p", { class: "note" }, scene.note(model))] : []),
      h(
        "div",
        { class: "tools" },
        button("Reset", () => {
          state = scene.init(model);
          set({});
        }),
        ...copyLink(root, keepNow),
        button("Save SVG", () => save(frame.querySelector("svg"), scene.name, summary, "svg")),
        button("Save PNG", () => save(frame.querySelector("svg"), scene.name, summary, "png")),
      ),
      h("p", { class: "heard", role: "status" }, root.querySelector("[role=status]")?.textContent ?? ""),
    ]);
  }

  patch(root, [h("style", {}, STYLE), h("div", { class: "live" }), h("div", { class: "still" }, h("slot"))]);
  const frame = root.querySelector(".live");
  new ResizeObserver(() => {
    const room = Math.floor(Math.min(host.clientWidth, 760) - 26); // padding and border
    if (room > 0 && room !== width) {
      width = room;
      draw();
    }
  }).observe(host);
  // When the scenes above it have their heights: they are drawn at the end of the frame that now begins.
  const soon = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  if (sent) addEventListener("load", () => soon(() => host.scrollIntoView({ behavior: "instant" })));
  // For whoever wants to compare: the tests do.
  host.explorer = {
    name: scene.name,
    get numbers() {
      return scene.numbers(model, state);
    },
    get state() {
      return state;
    },
  };
}

// Hand the drawing over as a file of its own: colors written out, a background, its text alternative.
async function save(drawing, name, summary, format) {
  const [, , width, height] = drawing.getAttribute("viewBox").split(" ").map(Number);
  const copy = drawing.cloneNode(true);
  const outside = { width, height, xmlns: SVG, "font-family": "system-ui, sans-serif", role: "img" };
  for (const [key, value] of Object.entries(outside)) copy.setAttribute(key, value);
  patch(copy.insertBefore(document.createElementNS(SVG, "g"), copy.firstChild), [
    h("desc", {}, summary),
    rect(0, 0, width, height, { fill: "var(--paper)" }),
  ]);
  const colors = getComputedStyle(drawing);
  const source = new XMLSerializer()
    .serializeToString(copy)
    .replace(/var\((--[\w-]+)\)/g, (_, color) => colors.getPropertyValue(color).trim())
    .replace(/ (tabindex|class|aria-selected)="[^"]*"| role="(grid|row|gridcell)"/g, "");
  if (format === "svg") return download(new Blob([source], { type: "image/svg+xml" }), `${name}.svg`);
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(source);
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download(blob, `${name}.png`));
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(blob),
    download: name,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
