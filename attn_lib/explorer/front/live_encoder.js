// The page of an encoder: its weights come when they are asked for; then each sentence shows all heads.

import { button } from "./controls.js";
import { copyLink } from "./copy_link.js";
import { Encoder } from "./encoder.js";
import { keep, linked } from "./link.js";
import { LONGEST, about, followTheme, hasTextAndHead, isBelow, keepSoon, show } from "./live_page.js";
import { pictures, textArea } from "./live_view.js";
import { h } from "./page.js";
import { summary } from "./relations.js";
import { unpack } from "./tensors.js";
import { WordPiece } from "./wordpiece.js";

const sizes = about();
const tokenizer = new WordPiece(sizes.tokenizer);
const root = document.getElementById("live");
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const fromDisk = location.protocol === "file:";

const state = {
  ...{ model: { length: 0 }, causal: false, version: 0, layer: sizes.start_head[0], head: sizes.start_head[1] },
  ...{ at: null, text: sizes.start, labels: [], left: 0, encoder: null, share: null, trouble: "" },
};
const themeButton = followTheme(() => draw());
let runs = 0;

// --- Reading ---

// As the tokenizer in Python cuts: the first tokens stay, and the last one, [SEP].
function take(text) {
  const all = tokenizer.encode(text);
  const left = Math.max(0, all.length - sizes.context);
  return { left, ids: left ? [...all.slice(0, sizes.context - 1), all.at(-1)] : all };
}

// What one asks about first: the last token with a letter in it, not the mark of the end.
function lastWord(labels) {
  const place = labels.findLastIndex((label) => /\p{L}/u.test(label) && !/^\[.*\]$/.test(label));
  return place < 0 ? null : place;
}

function type(text) {
  const { left, ids } = take(text);
  const labels = ids.map((id) => tokenizer.label(id));
  if (text !== state.text) set({ text, at: lastWord(labels) });
  state.left = left;
  const run = ++runs;
  if (!state.encoder) return set({ labels });
  draw();
  const layers = state.encoder.read(ids);
  const step = () => {
    if (run !== runs) return; // the text has changed
    if (!layers.next().done) setTimeout(step); // the page answers between two layers
    else set({ model: state.encoder, labels, version: state.version + 1 });
  };
  step();
}

// --- Weights ---

function use(buffer) {
  state.encoder = new Encoder(sizes, unpack(buffer, sizes.shapes));
  Object.assign(state, { share: null, trouble: "" });
  type(state.text);
}

async function load() {
  if (state.share !== null) return;
  set({ share: 0, trouble: "" });
  try {
    const answer = await fetch(sizes.weights);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const buffer = new Uint8Array(sizes.weights_size);
    let length = 0;
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      buffer.set(value, length);
      length += value.length;
      set({ share: length / sizes.weights_size });
    }
    if (length !== buffer.length) throw new Error(`only ${megabytes(length)} MB came`);
    use(buffer.buffer);
  } catch (error) {
    set({ share: null, trouble: `The weights could not be fetched: ${error.message}. Try again, or choose the file.` });
  }
}

async function pick(file) {
  try {
    use(await file.arrayBuffer());
  } catch (error) {
    set({ trouble: `This is not the file ${sizes.weights}: ${error.message}.` });
  }
}

// --- What is shown ---

function set(change) {
  Object.assign(state, change);
  if (["text", "at", "layer", "head"].some((name) => name in change)) keepSoon(view);
  draw();
}

// What the page's address says.
const view = () => {
  const { text, at, layer, head } = state;
  return { text: text.slice(0, LONGEST), at, layer, head };
};

const canBeShown = (view) =>
  hasTextAndHead(view, sizes) && (view.at === null || isBelow(view.at, sizes.context));

function loader() {
  const { share, trouble } = state;
  const size = `${megabytes(sizes.weights_size)} MB`;
  const go = { class: "go", "aria-disabled": share === null ? null : "true" };
  return h(
    "div",
    { class: "loader" },
    h(
      "p",
      {},
      fromDisk
        ? `A page opened from the disk may fetch nothing. Choose ${sizes.weights} (${size}), which lies beside it.`
        : `The ${sizes.parameters} numbers of the encoder are not here yet.`,
    ),
    fromDisk ? null : button(share === null ? `Load the encoder (${size})` : "Loading …", load, go),
    share === null ? null : h("progress", { value: share, max: 1, "aria-label": "loaded" }),
    fromDisk || trouble
      ? h("input", {
          ...{ type: "file", accept: ".bin", "aria-label": `the file ${sizes.weights}` },
          onchange: (event) => event.target.files.length && pick(event.target.files[0]),
        })
      : null,
    trouble ? h("p", { class: "trouble", role: "alert" }, trouble) : null,
  );
}

const lesson = (name, words) => h("a", { href: `notebooks/${name}.html` }, words);
const LESSONS = [lesson("01_single_head", "lesson 01"), " builds a head, ", lesson("06_seeing_attention", "lesson 06"), " puts it to the test."];

const nodes = () => [
  themeButton(),
  h(
    "section",
    { class: "type" },
    h("h2", {}, h("label", { for: "text" }, "Type a sentence")),
    textArea(2, state.text, type),
    h("div", { class: "controls" }, copyLink(root, () => keep("view", view()))),
    state.encoder ? null : loader(),
  ),
  ...pictures(sizes, state, set, {
    reads:
      "The encoder reads pieces of words. [CLS] and [SEP] mark the beginning and the end: a head that finds nothing often rests there.",
    limit: state.text.trim()
      ? state.left && `It reads ${sizes.context} tokens at most: ${state.left} are left out now.`
      : "Nothing is typed: only the marks of the beginning and the end are there.",
    more:
      sizes.gallery &&
      h("p", { class: "hint" }, "What such weights tell, and what they do not: ", LESSONS),
  }),
];

function draw() {
  show(root, nodes(), sizes, state, () => summary(state));
}

const sent = linked("view", canBeShown);
Object.assign(state, sent ?? { at: sizes.start_token });
type(state.text);
new ResizeObserver(draw).observe(root);

// For whoever wants to compare: the tests do.
root.live = {
  state,
  tokenizer,
  attention(ids) {
    for (const _ of state.encoder.read(ids));
    return state.encoder.maps.map((layer) => layer.map(({ data }) => Array.from(data)));
  },
};
