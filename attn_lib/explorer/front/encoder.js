// MiniLM, a BERT encoder, as attn_lib/minilm.py has it: all tokens at once, each asks all.

import { addRow, attend, dense, linear } from "./tensors.js";

const EPS = 1e-12;

// Abramowitz and Stegun, 7.1.26: right to 1.5e-7.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

// x = LayerNorm(x + y), row by row.
function addAndNorm(x, y, { weight, bias }) {
  const width = weight.length;
  for (let from = 0; from < x.length; from += width) {
    const row = x.subarray(from, from + width);
    let [sum, squares] = [0, 0];
    for (let i = 0; i < width; i++) sum += row[i] += y[from + i];
    const mean = sum / width;
    for (let i = 0; i < width; i++) squares += (row[i] - mean) ** 2;
    const factor = 1 / Math.sqrt(squares / width + EPS);
    for (let i = 0; i < width; i++) row[i] = (row[i] - mean) * factor * weight[i] + bias[i];
  }
}

export class Encoder {
  constructor({ layers, heads, width, d_ff }, weights) {
    const norm = (name) => ({ weight: weights[`${name}.weight`], bias: weights[`${name}.bias`] });
    const layer = (name) => ({ matrix: dense(weights[`${name}.weight`]), bias: weights[`${name}.bias`] });
    Object.assign(this, { heads, width, d_ff, size: width / heads, weights, norm: norm("norm") });
    this.blocks = Array.from({ length: layers }, (_, i) => ({
      ...Object.fromEntries(["q", "k", "v", "o"].map((n) => [n, layer(`blocks.${i}.attn.${n}_proj`)])),
      up: layer(`blocks.${i}.ff.0`),
      down: layer(`blocks.${i}.ff.2`),
      norm1: norm(`blocks.${i}.norm1`),
      norm2: norm(`blocks.${i}.norm2`),
    }));
    this.maps = [];
  }

  // Read tokens, a layer at each step: whoever calls may stop in between, when the text has changed.
  *read(ids) {
    const { width, weights } = this;
    const n = ids.length;
    const x = new Float32Array(n * width);
    ids.forEach((id, i) => {
      addRow(weights["token_embedding.weight"], id, x, i * width);
      addRow(weights["position_embedding.weight"], i, x, i * width);
      addRow(weights["segment_embedding.weight"], 0, x, i * width);
    });
    addAndNorm(x, new Float32Array(x.length), this.norm);
    const maps = [];
    for (const block of this.blocks) {
      maps.push(this.block(block, x, n));
      yield maps.length;
    }
    [this.maps, this.length] = [maps, n];
  }

  block(block, x, n) {
    const { width, size } = this;
    const apply = ({ matrix, bias }, input) =>
      linear(matrix, input, new Float32Array(n * matrix.rows), n, bias);
    const [q, k, v] = [block.q, block.k, block.v].map((projection) => apply(projection, x));
    const attended = new Float32Array(n * width);
    const maps = Array.from({ length: this.heads }, (_, h) => {
      const data = new Float32Array(n * n);
      for (let i = 0; i < n; i++) {
        const from = i * width + h * size;
        attend({
          q: q.subarray(from, from + size),
          k: k.subarray(h * size),
          v: v.subarray(h * size),
          out: attended.subarray(from, from + size),
          weights: data.subarray(i * n, (i + 1) * n),
          count: n,
          size,
          wide: width,
        });
      }
      return { data, stride: n };
    });
    addAndNorm(x, apply(block.o, attended), block.norm1);
    const inner = apply(block.up, x);
    for (let i = 0; i < inner.length; i++) inner[i] *= 0.5 * (1 + erf(inner[i] * Math.SQRT1_2));
    addAndNorm(x, apply(block.down, inner), block.norm2);
    return maps;
  }

  map(layer, head) {
    return this.maps[layer][head];
  }
}
