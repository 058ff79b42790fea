// Byte-level BPE, with the ids of the Python library `tokenizers`.

import { cut } from "./special.js";

// GPT-2's pieces. \s of JavaScript is not quite Unicode's white space.
const PIECE =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

export class Bpe {
  // tokens: each as a string of bytes; bytes: the id of each byte, null without one; merges: [left, right,
  // both], the first one to be merged first; special: {text: id}.
  constructor({ tokens, bytes, merges, special }) {
    Object.assign(this, { bytes, special });
    this.tokens = tokens.map((token) => Uint8Array.from(token, (c) => c.charCodeAt(0)));
    this.merges = new Map(merges.map(([a, b, both], rank) => [a * tokens.length + b, { rank, both }]));
    this.ends = new Set(Object.values(special));
    this.known = new Map(); // the ids of pieces
  }

  encode(text) {
    const plain = (part) => (part.match(PIECE) ?? []).flatMap((piece) => this.piece(piece));
    return cut(text, this.special).flatMap((part) => (typeof part === "string" ? plain(part) : [part]));
  }

  piece(piece) {
    if (!this.known.has(piece)) {
      if (this.known.size > 50_000) this.known.clear();
      const ids = Array.from(new TextEncoder().encode(piece), (byte) => this.bytes[byte]);
      this.known.set(piece, this.merge(ids.filter((id) => id !== null)));
    }
    return this.known.get(piece);
  }

  // Merge the pair that comes first in the list, wherever it stands, until no pair is in it.
  merge(ids) {
    const pair = (a, b) => this.merges.get(a * this.tokens.length + b);
    const rank = (a, b) => (a === undefined || b === undefined ? Infinity : (pair(a, b)?.rank ?? Infinity));
    for (;;) {
      let first = Infinity;
      for (let i = 1; i < ids.length; i++) first = Math.min(first, rank(ids[i - 1], ids[i]));
      if (first === Infinity) return ids;
      const merged = [];
      let i = 0;
      while (i < ids.length) {
        if (rank(ids[i], ids[i + 1]) !== first) {
          merged.push(ids[i++]);
          continue;
        }
        const { both } = pair(ids[i], ids[i + 1]);
        const before = merged.at(-1);
        merged.push(both);
        i += 2;
        if (Math.min(rank(before, both), rank(both, ids[i])) < first) break; // that pair is next
      }
      ids = merged.concat(ids.slice(i));
    }
  }

  // Which two tokens became this one, and in which round of training, from 0; null if it is a byte or special.
  madeOf(id) {
    for (const [key, { rank, both }] of this.merges) {
      const n = this.tokens.length;
      if (both === id) return { parts: [Math.floor(key / n), key % n], rank };
    }
    return null;
  }

  // The text of some tokens; bytes at its end that are no whole character are left out.
  decode(ids) {
    const bytes = ids.flatMap((id) => (this.ends.has(id) ? [] : [...this.tokens[id]]));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes), { stream: true });
  }

  // A token as it can be seen: spaces and line ends as signs, parts of characters in hexadecimal.
  label(id) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.tokens[id]);
      return text.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\r/g, "␍");
    } catch {
      return [...this.tokens[id]].map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
    }
  }
}
