// The page of a language model: type, see whom each token asks and what may come next, let it write on.

import { Bpe } from "./bpe.js";
import { button, slider } from "./controls.js";
import { copyLink } from "./copy_link.js";
import { LONGEST, about, bytes, followTheme, hasTextAndHead, isBelow, keepSoon, show, wake } from "./live_page.js";
import { pictures, textArea } from "./live_view.js";
import { Llama } from "./llama.js";
import { keep, linked } from "./link.js";
import { h } from "./page.js";
import { summary } from "./relations.js";
import { probabilities, sample } from "./sampling.js";
import { unpack } from "./tensors.js";
import { LAST, seen, way } from "./way.js";

const SHOWN = 8; // of the next tokens
const MOST_WRITTEN = 200; // in one go
const SLICE = 12; // milliseconds of reading, then the page answers
const CALM = 500; // milliseconds between pictures, for whom motion is too much
const PAUSE = 5000; // milliseconds at each scale, on the way down

const sizes = about();
const tokenizer = new Bpe(sizes.tokenizer);
const root = document.getElementById("live");
const model = new Llama(sizes, unpack(bytes(await wake(sizes, root)), sizes.shapes));
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const state = {
  ...{ model, causal: true, version: 0, layer: sizes.start_head[0], head: sizes.start_head[1], at: null },
  ...{ typed: "", written: [], all: [], ids: [], labels: [], from: 0, logits: null },
  ...{ temperature: 0.8, topP: 0.95, left: 0, speed: "" },
  ...{ level: 0, key: null, playing: false },
};
let writing, drawn, waiting, going;
const themeButton = followTheme(() => draw());

const wholeText = () => state.typed + tokenizer.decode(state.written);
const candidates = () => probabilities(state.logits, state.temperature, state.topP);

// --- Reading and writing ---

// Which tokens of a long text are not read: as few quarters of the context as can be, because whenever one
// more is left out, all others have new places and are read anew.
function unread(count) {
  const quarter = Math.ceil(sizes.context / 4);
  return Math.max(0, Math.ceil((count - sizes.context) / quarter) * quarter);
}

// Take other tokens. What begins as before stays read, but for the last one: from it comes what is next.
function take(all) {
  const from = unread(all.length);
  const ids = all.slice(from);
  let same = 0;
  while (same < ids.length - 1 && ids[same] === state.ids[same]) same++;
  model.keep(same);
  Object.assign(state, { all, from, ids, labels: ids.map((id) => tokenizer.label(id)), logits: null });
}

function read() {
  const end = performance.now() + SLICE;
  while (model.length < state.ids.length && performance.now() < end) model.read(state.ids[model.length]);
  state.version++;
  if (model.length && model.length === state.ids.length) state.logits ??= model.logits().slice();
}

function write(id) {
  state.written.push(id);
  take([...state.all, id]);
  read();
}

// Read for some milliseconds or write a token, show it, and go on with the next picture.
function step() {
  waiting = false;
  if (state.logits && state.left) {
    const begun = performance.now();
    const id = sample(candidates());
    state.left = tokenizer.ends.has(id) ? 0 : state.left - 1;
    if (!tokenizer.ends.has(id)) write(id);
    writing.tokens++;
    writing.computing += performance.now() - begun;
    const seconds = (performance.now() - writing.since) / 1000;
    state.speed =
      `${(writing.tokens / seconds).toFixed(0)} tokens a second; ` +
      `computing one takes ${(writing.computing / writing.tokens).toFixed(1)} ms`;
  } else read();
  draw();
  if (state.left || model.length < state.ids.length) soon();
}

function soon() {
  if (!waiting) requestAnimationFrame(step);
  waiting = true;
}

function type(words) {
  Object.assign(state, { typed: words, written: [], at: null, key: null, left: 0 });
  take(tokenizer.encode(words));
  keepSoon(view);
  step();
}

function append(id) {
  Object.assign(state, { at: null, key: null, left: 0 });
  write(id);
  step();
}

function writeOn() {
  if (!state.ids.length) return root.querySelector("textarea").focus();
  Object.assign(state, { left: state.left ? 0 : MOST_WRITTEN, at: null, key: null });
  writing = { tokens: 0, computing: 0, since: performance.now() };
  step();
}

// --- What is shown ---

function set(change) {
  const isOther = ["at", "layer", "head"].some((name) => name in change);
  Object.assign(state, isOther && { key: null }, change);
  keepSoon(view);
  draw();
}

// What the page's address says.
const view = () => {
  const { at, layer, head, key, level } = state;
  return { text: wholeText().slice(0, LONGEST), at, layer, head, key, level };
};

function canBeShown(view) {
  const isPlace = (value) => value === null || isBelow(value, sizes.context);
  return hasTextAndHead(view, sizes) && isBelow(view.level, LAST + 1) && [view.at, view.key].every(isPlace);
}

function goDown() {
  clearInterval(going);
  set({ playing: !state.playing, level: state.level === LAST ? 0 : state.level });
  going = setInterval(() => {
    if (!state.playing) return clearInterval(going);
    set({ level: state.level + 1, playing: state.level + 1 < LAST });
  }, PAUSE);
}

const precise = (p) => (p > 0.995 || p < 0.0005 ? `${Math.round(100 * p)}%` : `${(100 * p).toFixed(1)}%`);

function option({ id, p, kept }) {
  const ends = tokenizer.ends.has(id);
  const label = ends ? "the end" : tokenizer.label(id);
  const said = `${label}, ${precise(p)}${kept ? "" : ", left out by top-p"}${ends ? "" : ": append"}`;
  const inside = [
    h("span", { class: "word" }, label),
    h("span", { class: "track" }, h("span", { class: "bar", style: `width:${100 * p}%` })),
    h("span", { class: "percent" }, precise(p)),
  ];
  const look = { class: kept ? "" : "cut", "aria-label": said, "aria-disabled": ends ? "true" : null };
  return h("li", {}, button(inside, () => !ends && append(id), look));
}

function nodes() {
  const { temperature, topP, left, from, speed, ids, logits } = state;
  const warm = { min: 0, max: 2, step: 0.1, value: temperature };
  const nucleus = { min: 0.05, max: 1, step: 0.05, value: topP, text: topP.toFixed(2) };
  const go = { class: "go", "aria-disabled": ids.length ? null : "true" };
  return [
    themeButton(),
    h(
      "section",
      { class: "type" },
      h("h2", {}, h("label", { for: "text" }, "Type something")),
      textArea(5, wholeText(), type),
      h(
        "div",
        { class: "controls" },
        button(left ? "■ Stop" : "▶ Let it write on", writeOn, go),
        slider("temperature", { ...warm, text: temperature ? temperature.toFixed(1) : "0: greedy" }, (value) =>
          set({ temperature: value }),
        ),
        slider("top-p", nucleus, (value) => set({ topP: value })),
        ...copyLink(root, () => keep("view", view())),
      ),
      h("p", { class: "hint speed" }, speed || "Low temperature: it plays safe. High: it dares more."),
    ),
    h(
      "section",
      { class: "coming" },
      h("h2", {}, "What may come next"),
      logits
        ? h("ol", { class: "next" }, candidates().slice(0, SHOWN).map(option))
        : h("p", { class: "hint" }, ids.length ? "It reads …" : "Nothing yet: type a word."),
      h("p", { class: "hint" }, `Click one to append it. ${temperature ? `These are the chances at temperature ${temperature.toFixed(1)}. ` : ""}Pale: left out by top-p.`),
    ),
    ...pictures(sizes, state, set, {
      reads: "The model reads pieces of words. Each asks itself and those before it, never what comes later.",
      limit: from && `It reads ${sizes.context} tokens at most: the first ${from} are left out now.`,
    }),
    way(state, tokenizer, set, { gallery: sizes.gallery, play: goDown }),
  ];
}

function news() {
  const likely = state.logits ? candidates().slice(0, 3) : [];
  const said = likely.map(({ id, p }) => `${tokenizer.label(id)} ${precise(p)}`).join(", ");
  return said && `Next may come: ${said}. ${summary(state)}`;
}

function draw() {
  if (state.left && calm.matches && performance.now() - drawn < CALM) return;
  drawn = performance.now();
  show(root, nodes(), sizes, state, news, state.left > 0 || model.length < state.ids.length);
  for (const box of state.left ? root.querySelectorAll("textarea, .chips") : []) box.scrollTop = box.scrollHeight;
}

const sent = linked("view", canBeShown);
type(sent?.text ?? sizes.start);
Object.assign(state, sent ?? { at: sizes.start_token });
draw();
if (sent?.level) root.querySelector(".way").scrollIntoView({ behavior: "instant" });
else if (sizes.weights) root.querySelector(".go").focus({ preventScroll: true }); // the button that woke it is gone
new ResizeObserver(draw).observe(root);

// For whoever wants to compare: the tests do.
root.live = {
  state,
  tokenizer,
  sample,
  seen: () => seen(state),
  logits(ids) {
    model.keep(0);
    for (const id of ids) model.read(id);
    return Array.from(model.logits());
  },
};
