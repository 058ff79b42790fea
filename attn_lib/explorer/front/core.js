// What the scenes share. A scene is an object with
//   init(model)                          the state it starts in
//   controls(model, state, set)          what stands above the picture, made with h()
//   picture(model, state, width, set)    {height, nodes, label}: the drawing, as wide as the page lets it be
//   summary(model, state)                the picture in a sentence or two
//   numbers(model, state)                what it computed, for whoever wants to compare

const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";

// ---------------------------------------------------------------- describing and matching a page

// Describe an element. Children may be nested lists; null and false are left out.
export const h = (tag, props, ...children) => ({
  tag,
  props: props ?? {},
  children: children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (typeof child === "object" ? child : String(child))),
});

// Make the children of an element what is wanted. What can stay stays, and keeps its focus.
export function patch(parent, wanted) {
  wanted.forEach((want, i) => {
    let node = parent.childNodes[i];
    if (typeof want === "string") {
      if (node?.nodeType !== Node.TEXT_NODE) put(parent, document.createTextNode(want), node);
      else if (node.data !== want) node.data = want;
      return;
    }
    if (node?.localName !== want.tag) {
      const inside = want.tag === "svg" || parent.namespaceURI === SVG;
      node = put(parent, document.createElementNS(inside ? SVG : HTML, want.tag), node);
      node.given = {};
    }
    patch(node, want.children);
    for (const name of Object.keys({ ...node.given, ...want.props })) {
      if (name === "value" || name === "checked" || node.given[name] !== want.props[name]) give(node, name, want.props[name]);
    }
    node.given = want.props;
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

function put(parent, fresh, old) {
  old ? parent.replaceChild(fresh, old) : parent.append(fresh);
  return fresh;
}

function give(node, name, value) {
  if (name.startsWith("on") || name === "value" || name === "checked") {
    if (node[name] !== value) node[name] = value ?? null;
  } else if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

// --------------------------------------------------------------------------------------- controls

export const slider = (label, { min, max, step = 1, value, text }, change) =>
  h("label", { class: "slider" },
    h("span", {}, label),
    h("input", {
      type: "range", min, max, step, "aria-valuetext": text, "aria-label": label, value: String(value),
      oninput: (event) => change(Number(event.target.value)),
    }),
    h("span", { class: "value", "aria-hidden": "true" }, text));

export const choice = (legend, options, value, change) =>
  h("fieldset", {},
    h("legend", {}, legend),
    Object.entries(options).map(([key, label]) =>
      h("label", {},
        h("input", { type: "radio", name: legend, value: key, checked: key === String(value), onchange: () => change(key) }),
        h("span", {}, label))));

export const toggle = (label, on, change) =>
  h("label", { class: "toggle" },
    h("input", { type: "checkbox", checked: on, onchange: (event) => change(event.target.checked) }),
    h("span", {}, label));

export const button = (label, press, props) =>
  h("button", { type: "button", onclick: press, ...props }, label);

// ---------------------------------------------------------------------------------------- drawing

export const INK = "var(--ink)", SOFT = "var(--soft)", LINE = "var(--line)";
export const BLUE = "var(--blue)", ORANGE = "var(--orange)";
export const PALE_BLUE = "var(--pale-blue)", PALE_ORANGE = "var(--pale-orange)";
const LETTER = 6.8; // pixels: the mean width of a letter of 12 pixels

export const text = (x, y, words, props) =>
  h("text", { x: round(x), y: round(y), dy: ".35em", "font-size": 12, fill: INK, ...props }, words);

export const rect = (x, y, width, height, props) =>
  h("rect", { x: round(x), y: round(y), width: round(Math.max(width, 0)), height: round(Math.max(height, 0)), ...props });

export const line = (points, props) =>
  h("path", { d: "M" + points.map((p) => p.map(round)).join("L"), fill: "none", stroke: SOFT, ...props });

// What screen readers skip, because the summary and the cells say it.
export const silent = (...nodes) => h("g", { "aria-hidden": "true" }, nodes);

export const round = (x) => Math.round(x * 100) / 100;
export const longest = (words) => Math.max(...words.map((word) => String(word).length)) * LETTER;
export const percent = (x) => `${Math.round(100 * x)}%`;

// As the other figures of the course write a weight: .31, and nothing below .05.
export const share = (w) => (w < 0.05 ? "" : w.toFixed(2).replace(/^0/, ""));
export const number = (x, digits = 2) =>
  Number.isFinite(x) ? x.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1").replace("-", "−") : Number.isNaN(x) ? "NaN" : x < 0 ? "−∞" : "∞";

function lookUp(stops, t) {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const channel = (color, i) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => {
    const [a, b] = [channel(stops[low], i), channel(stops[low + 1], i)];
    return Math.round(a + (b - a) * (at - low)).toString(16).padStart(2, "0");
  });
  return "#" + mixed.join("");
}

export const weightColor = (w) => lookUp(MAPS.weights, w);
export const scoreColor = (score, largest) => lookUp(MAPS.scores, (score / (largest || 1) + 1) / 2);

// Black or white, by the relative luminance of the color below (WCAG 2).
export function inkOn(color) {
  const [r, g, b] = [1, 3, 5]
    .map((i) => parseInt(color.slice(i, i + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

const hatch = (x, y, s) => [
  rect(x, y, s, s, { fill: "#dddddd" }),
  h("path", {
    d: [0.25, 0.5, 0.75, 1].map((t) =>
      `M${round(x)} ${round(y + t * s)}L${round(x + t * s)} ${round(y)}` +
      (t < 1 ? `M${round(x + t * s)} ${round(y + s)}L${round(x + s)} ${round(y + t * s)}` : "")).join(""),
    stroke: "#8a8a8a", "stroke-width": 1, fill: "none",
  }),
];

// Cells in rows and columns. cell(i, j) gives {fill, text, ink, masked, label, selected}. With `move`, the
// cells are one tab stop, the arrow keys walk on from `at`, and Enter, Space or a click picks.
export function grid({ x, y, size, rows, columns, cell, label, at, move, pick, props }) {
  const draw = (i, j) => {
    const { fill = "none", words = "", ink, masked, stroke } = cell(i, j);
    const [left, top] = [x + j * size, y + i * size];
    const inset = stroke ? 1.5 : 0; // a frame that the next cell does not cover
    return [
      masked ? hatch(left, top, size) : null,
      rect(left + inset, top + inset, size - 2 * inset, size - 2 * inset, {
        fill: masked ? "transparent" : fill, stroke: stroke ?? "var(--paper)", "stroke-width": stroke ? 2.5 : 1, class: "cell",
      }),
      words !== "" && size >= 20
        ? text(left + size / 2, top + size / 2, words, {
          "text-anchor": "middle", "font-size": Math.min(12, size / 2.4),
          fill: ink ?? (fill.startsWith("#") ? inkOn(fill) : INK), ...(masked && { fill: "#000000", stroke: "#dddddd", "stroke-width": 3, "paint-order": "stroke" }),
        })
        : null,
    ];
  };
  const range = (n) => [...Array(n).keys()];
  if (!move) return silent(range(rows).map((i) => range(columns).map((j) => draw(i, j))));
  return h("g", { role: "grid", "aria-label": label, class: "grid" },
    range(rows).map((i) =>
      h("g", { role: "row" },
        range(columns).map((j) =>
          h("g", {
            role: "gridcell",
            tabindex: i === at[0] && j === at[1] ? 0 : -1,
            "aria-label": cell(i, j).label,
            "aria-selected": cell(i, j).selected === undefined ? null : String(cell(i, j).selected),
            onclick: (event) => { move(i, j); pick?.(i, j, event); },
            onkeydown: (event) => walk(event, i, j, rows, columns, move, pick),
            ...props?.(i, j),
          }, draw(i, j))))));
}

function walk(event, i, j, rows, columns, move, pick) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const goal = {
    ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
    Home: [i, 0], End: [i, columns - 1], PageUp: [0, j], PageDown: [rows - 1, j],
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

// The room that a heat map's labels take, around its cells.
export const margins = (queries, keys) => ({
  left: 24 + Math.min(longest(queries), 90),
  top: 26,
  bottom: 30 + (longest(keys) > 2 * LETTER ? Math.min(longest(keys), 90) * 0.71 + 4 : 14),
});

// A grid with a title, the queries' names on its left and the keys' below it.
export function heatMap({ x, y, size, queries, keys, title, strong = [], ...rest }) {
  const { left, top } = margins(queries, keys);
  const [x0, y0] = [x + left, y + top];
  const [width, height] = [size * keys.length, size * queries.length];
  const slanted = longest(keys) > 2 * LETTER;
  const every = Math.ceil(11 / size); // labels of 11 pixels need that many cells
  const short = (name) => (name.length > 13 ? name.slice(0, 12) + "…" : name);
  const end = y0 + height + margins(queries, keys).bottom - 10;
  return [
    silent(
      text(x0, y + 10, title, { "font-weight": 600 }),
      queries.map((name, i) => (i % every && i !== strong[0] ? null
        : text(x0 - 6, y0 + (i + 0.5) * size, short(name), { "text-anchor": "end", "font-weight": i === strong[0] ? 700 : 400, "font-size": Math.min(12, size * every) }))),
      keys.map((name, j) => {
        if (j % every && j !== strong[1]) return null;
        const [tx, ty] = [x0 + (j + 0.5) * size, y0 + height + 9];
        const look = { "font-weight": j === strong[1] ? 700 : 400, "font-size": Math.min(12, size * every) };
        return slanted
          ? text(tx + 3, ty, short(name), { "text-anchor": "end", transform: `rotate(-45 ${round(tx)} ${round(ty)})`, ...look })
          : text(tx, ty + 2, name, { "text-anchor": "middle", ...look });
      }),
      text(x0 + width / 2, end, "key (column)", { "text-anchor": "middle", fill: SOFT }),
      text(x + 8, y0 + height / 2, "query (row)", { "text-anchor": "middle", fill: SOFT, transform: `rotate(-90 ${round(x + 8)} ${round(y0 + height / 2)})` }),
    ),
    grid({ x: x0, y: y0, size, rows: queries.length, columns: keys.length, ...rest }),
  ];
}

// A bar of all colors of a map with what its ends mean.
export const colorBar = (x, y, width, color, [low, high], label) => silent(
  [...Array(24).keys()].map((i) => rect(x + (i * width) / 24, y, width / 24 + 0.5, 9, { fill: color(i / 23) })),
  text(x - 5, y + 5, low, { "text-anchor": "end", "font-size": 11, fill: SOFT }),
  text(x + width + 5, y + 5, high, { "font-size": 11, fill: SOFT }),
  text(x + width / 2, y + 19, label, { "text-anchor": "middle", "font-size": 11, fill: SOFT }),
);

// ------------------------------------------------------------------------------------ mathematics

// Softmax of a row in which null stands for -inf; a row of nothing else gives zeros.
export function softmax(row) {
  const largest = Math.max(...row.map((s) => s ?? -Infinity));
  if (largest === -Infinity) return row.map(() => 0);
  const raised = row.map((s) => (s === null ? 0 : Math.exp(s - largest)));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((e) => e / sum);
}

// In nats; 0 log 0 is 0.
export const entropy = (row) => row.reduce((sum, w) => sum - (w > 0 ? w * Math.log(w) : 0), 0);

// ------------------------------------------------------------------------------------- life of it

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
fieldset span, button { display: inline-block; box-sizing: border-box; min-height: 28px; padding: 3px 10px; font: inherit; line-height: 20px;
  border: 1px solid var(--line); border-radius: 7px; background: var(--panel); color: var(--ink); cursor: pointer; }
fieldset input:checked + span, button[aria-pressed="true"] { background: var(--blue); border-color: var(--blue); color: var(--paper); }
button:disabled { color: var(--soft); cursor: default; opacity: .7; }
.toggle { display: inline-flex; gap: 6px; align-items: center; min-height: 28px; cursor: pointer; }
.toggle input { width: 17px; height: 17px; margin: 0; accent-color: var(--blue); }
input:focus-visible, button:focus-visible, fieldset input:focus-visible + span { outline: 3px solid var(--focus); outline-offset: 2px; }
svg { display: block; width: 100%; height: auto; font-family: inherit; user-select: none; }
.grid [role="gridcell"] { outline: none; cursor: pointer; }
.grid [role="gridcell"]:focus-visible { outline: 4px solid var(--focus); outline-offset: -4px; }
.thumbs { display: flex; flex-wrap: wrap; gap: 6px; width: 100%; }
.thumbs button { padding: 3px; text-align: center; font-size: 11px; line-height: 15px; }
.thumbs img { display: block; width: 48px; height: 48px; image-rendering: pixelated; }
.glide * { transition: x .45s, y .45s, transform .45s; }
.summary { margin: 8px 0 0; min-height: 2.9em; }
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
  const said = jpThemeLight ? { true: "light", false: "dark" }[jpThemeLight] : vscodeThemeKind ?? theme ?? document.documentElement.dataset.theme;
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
    watcher.observe(node, { attributeFilter: ["data-theme", "data-jp-theme-light", "data-vscode-theme-kind"] });
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

function live(host, scene, model) {
  const root = host.attachShadow({ mode: "open" });
  host.setAttribute("data-lm-suppress-shortcuts", "true"); // or JupyterLab takes the arrow keys
  followTheme(host);
  let state = scene.init(model), width = 0, said = "", timer;

  function set(change) {
    Object.assign(state, change);
    draw();
    clearTimeout(timer); // a slider that moves is not read out at every step
    timer = setTimeout(() => {
      const heard = root.querySelector("[role=status]");
      const now = scene.summary(model, state);
      if (now !== said) heard.textContent = said = now;
    }, 400);
  }

  function draw() {
    if (!width) return;
    const { height, nodes, label, interactive } = scene.picture(model, state, width, set);
    const summary = scene.summary(model, state);
    said ||= summary;
    patch(frame, [
      h("div", { class: "controls" }, scene.controls(model, state, set)),
      h("svg", {
        viewBox: `0 0 ${width} ${Math.ceil(height)}`, "font-size": 12, class: scene.glides ? "glide" : null,
        role: interactive ? "group" : "img", "aria-label": interactive ? label : `${label}. ${summary}`,
      }, nodes),
      h("p", { class: "summary" }, summary),
      h("div", { class: "tools" },
        button("Reset", () => { state = scene.init(model); set({}); }),
        button("Save SVG", () => save(frame.querySelector("svg"), scene.name, summary, "svg")),
        button("Save PNG", () => save(frame.querySelector("svg"), scene.name, summary, "png"))),
      h("p", { class: "heard", role: "status" }, root.querySelector("[role=status]")?.textContent ?? ""),
    ]);
  }

  patch(root, [h("style", {}, STYLE), h("div", { class: "live" }), h("div", { class: "still" }, h("slot"))]);
  const frame = root.querySelector(".live");
  new ResizeObserver(() => {
    const room = Math.floor(Math.min(host.clientWidth, 760) - 26); // padding and border
    if (room > 0 && room !== width) { width = room; draw(); }
  }).observe(host);
  host.explorer = { get numbers() { return scene.numbers(model, state); }, get state() { return state; } };
}

// Hand the drawing over as a file of its own: colors written out, a background, its text alternative.
async function save(drawing, name, summary, format) {
  const [, , width, height] = drawing.getAttribute("viewBox").split(" ").map(Number);
  const copy = drawing.cloneNode(true);
  for (const [key, value] of Object.entries({ width, height, xmlns: SVG, "font-family": "system-ui, sans-serif", role: "img" })) copy.setAttribute(key, value);
  patch(copy.insertBefore(document.createElementNS(SVG, "g"), copy.firstChild), [
    h("desc", {}, summary), rect(0, 0, width, height, { fill: "var(--paper)" }),
  ]);
  const colors = getComputedStyle(drawing);
  const source = new XMLSerializer().serializeToString(copy)
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
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
