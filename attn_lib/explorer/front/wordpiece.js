// BERT's tokens, with the ids of the Python library `tokenizers`.

import { cut } from "./special.js";

const CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const WORD = /[!-/:-@[-`{-~\p{P}]|[^\p{White_Space}!-/:-@[-`{-~\p{P}]+/gu;
const LONGEST_WORD = 100;

export class WordPiece {
  constructor({ tokens, special }) {
    Object.assign(this, { tokens, special });
    this.ids = new Map(tokens.map((token, id) => [token, id]));
  }

  encode(text) {
    const plain = (part) => (this.normal(part).match(WORD) ?? []).flatMap((word) => this.word(word));
    const middle = cut(text, this.special).flatMap((part) => (typeof part === "string" ? plain(part) : [part]));
    return [this.special["[CLS]"], ...middle, this.special["[SEP]"]];
  }

  // Without control characters, accents and capitals; Chinese characters stand alone.
  normal(text) {
    const clean = text
      .replace(/[\t\n\r]/g, " ")
      .replace(/[\ufffd\p{Cc}\p{Cf}\p{Co}]/gu, "")
      .replace(CHINESE, " $& ")
      .normalize("NFD")
      .replace(/\p{Mn}/gu, "");
    return [...clean].map((c) => c.toLowerCase()).join(""); // alone: a sigma does not become a last one
  }

  // The longest token that begins a word, then the longest that goes on, and so forth.
  word(word) {
    const characters = [...word];
    const ids = [];
    let from = 0;
    while (from < characters.length && characters.length <= LONGEST_WORD) {
      let to = characters.length;
      const piece = () => (from ? "##" : "") + characters.slice(from, to).join("");
      while (to > from && !this.ids.has(piece())) to--;
      if (to === from) break;
      ids.push(this.ids.get(piece()));
      from = to;
    }
    return from === characters.length ? ids : [this.special["[UNK]"]];
  }

  label(id) {
    return this.tokens[id];
  }
}
