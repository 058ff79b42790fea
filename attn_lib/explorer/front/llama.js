// A Llama that reads one token after the other and keeps all keys and values: attn_lib/llama.py in JavaScript.

import { addRow, attend, dense, linear } from "./tensors.js";

const MATRICES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];

function rmsNorm(x, weight, eps, y) {
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += x[i] * x[i];
  const factor = 1 / Math.sqrt(squares / x.length + eps);
  for (let i = 0; i < x.length; i++) y[i] = x[i] * factor * weight[i];
}

// RoPE: turn each pair of channels (c, c + D/2) of each head.
function turn(x, size, position, base) {
  for (let c = 0; c < size / 2; c++) {
    const angle = position * base ** ((-2 * c) / size);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    for (let i = c; i < x.length; i += size) {
      const [a, b] = [x[i], x[i + size / 2]];
      x[i] = a * cos - b * sin;
      x[i + size / 2] = b * cos + a * sin;
    }
  }
}

export class Llama {
  constructor({ layers, heads, kv_heads, width, d_ff, context, rope_base, eps }, weights) {
    Object.assign(this, { layers, heads, kvHeads: kv_heads, context, ropeBase: rope_base, eps });
    this.size = width / heads;
    this.kvWidth = kv_heads * this.size;
    this.embed = weights.embed;
    this.head = dense(weights.embed);
    this.norm = weights.norm;
    this.blocks = Array.from({ length: layers }, (_, layer) => ({
      norm1: weights[`${layer}.norm1`],
      norm2: weights[`${layer}.norm2`],
      ...Object.fromEntries(MATRICES.map((name) => [name, dense(weights[`${layer}.${name}`])])),
      keys: new Float32Array(context * this.kvWidth),
      values: new Float32Array(context * this.kvWidth),
      attention: Array.from({ length: heads }, () => new Float32Array(context * context)),
    }));
    this.length = 0; // how many tokens it has read
    const space = (n) => new Float32Array(n);
    [this.x, this.y, this.q, this.attended] = [width, width, width, width].map(space);
    [this.gate, this.up, this.scores] = [d_ff, d_ff, this.head.rows].map(space);
  }

  // Forget all but the first n tokens.
  keep(n) {
    this.length = Math.min(this.length, n);
  }

  read(id) {
    this.x.fill(0);
    addRow(this.embed, id, this.x);
    for (const block of this.blocks) {
      this.attention(block);
      this.feedForward(block);
    }
    this.length++;
  }

  // Read the token at a place that was read once more, and keep what each block takes in and adds (E,), its queries
  // and keys of this token, and the logits as if the model ended there.
  follow(id, position) {
    const { x, length } = this;
    this.length = position;
    x.fill(0);
    addRow(this.embed, id, x);
    const ends = () => ({ x: x.slice(), logits: this.logits().slice() });
    const found = { begin: ends(), blocks: [] };
    for (const block of this.blocks) {
      const before = x.slice();
      this.attention(block);
      const [between, q] = [x.slice(), this.q.slice()];
      this.feedForward(block);
      const minus = (a, b) => a.map((value, i) => value - b[i]);
      found.blocks.push({ before, q, attention: minus(between, before), network: minus(x, between), ...ends() });
    }
    this.length = length;
    return found;
  }

  // The key of a token in a block, of the head that a query head shares: (D,), turned by its position.
  key(layer, head, position) {
    const from = position * this.kvWidth + Math.floor((head * this.kvHeads) / this.heads) * this.size;
    return this.blocks[layer].keys.slice(from, from + this.size);
  }

  attention(block) {
    const { x, y, q, attended, length, size, kvWidth, context } = this;
    const end = (length + 1) * kvWidth;
    rmsNorm(x, block.norm1, this.eps, y);
    linear(block.q_proj, y, q);
    turn(q, size, length, this.ropeBase);
    const k = linear(block.k_proj, y, block.keys.subarray(length * kvWidth, end));
    turn(k, size, length, this.ropeBase);
    linear(block.v_proj, y, block.values.subarray(length * kvWidth, end));
    for (let h = 0; h < this.heads; h++) {
      const shared = Math.floor((h * this.kvHeads) / this.heads) * size;
      attend({
        q: q.subarray(h * size, (h + 1) * size),
        k: block.keys.subarray(shared, end),
        v: block.values.subarray(shared, end),
        out: attended.subarray(h * size, (h + 1) * size),
        weights: block.attention[h].subarray(length * context, (length + 1) * context),
        count: length + 1,
        size,
        wide: kvWidth,
      });
    }
    linear(block.o_proj, attended, y);
    for (let i = 0; i < x.length; i++) x[i] += y[i];
  }

  feedForward(block) {
    const { x, y, gate, up } = this;
    rmsNorm(x, block.norm2, this.eps, y);
    linear(block.gate_proj, y, gate);
    linear(block.up_proj, y, up);
    for (let i = 0; i < gate.length; i++) gate[i] = (gate[i] / (1 + Math.exp(-gate[i]))) * up[i];
    linear(block.down_proj, gate, y);
    for (let i = 0; i < x.length; i++) x[i] += y[i];
  }

  // The logits of the token that comes after all that was read.
  logits() {
    rmsNorm(this.x, this.norm, this.eps, this.y);
    return linear(this.head, this.y, this.scores);
  }

  // The weights of a head: that of query i and key j is data[i * stride + j].
  map(layer, head) {
    return { data: this.blocks[layer].attention[head], stride: this.context };
  }
}
