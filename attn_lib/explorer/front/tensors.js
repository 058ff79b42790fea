// Weights as they come in one piece, and what both models compute with them.

// Read what Python packed: all float32 first (vectors, and the scales of matrices), then all int8.
export function unpack(buffer, shapes) {
  const rows = Object.values(shapes).reduce((sum, [n]) => sum + n, 0);
  const size = Object.values(shapes).reduce((sum, [n, cols = 0]) => sum + n * cols, 4 * rows);
  if (buffer.byteLength !== size) throw new Error(`expected ${size} bytes of weights, got ${buffer.byteLength}`);
  let [float, byte] = [0, 4 * rows];
  const read = ([n, cols]) => {
    const floats = new Float32Array(buffer, 4 * float, n);
    float += n;
    if (!cols) return floats;
    byte += n * cols;
    return { rows: n, cols, scales: floats, q: new Int8Array(buffer, byte - n * cols, n * cols) };
  };
  return Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, read(shape)]));
}

// A matrix turned back into float32, once: W_oi = q_oi * scale_o.
export function dense(matrix) {
  const { rows, cols, scales, q } = matrix;
  const data = new Float32Array(rows * cols);
  for (let o = 0, at = 0; o < rows; o++) for (let i = 0; i < cols; i++, at++) data[at] = q[at] * scales[o];
  return { rows, cols, data };
}

// Add row i of an int8 matrix to n numbers of x, from `at` on.
export function addRow({ cols, scales, q }, i, x, at = 0) {
  for (let c = 0; c < cols; c++) x[at + c] += q[i * cols + c] * scales[i];
}

// y (n, rows) = x (n, cols) W^T + bias: four rows at a time, so that a number of x is read once for them.
export function linear({ rows, cols, data }, x, y, n = 1, bias = null) {
  for (let o = 0; o < rows; o += 4) {
    const [p0, some] = [o * cols, Math.min(4, rows - o)];
    const p1 = some > 1 ? p0 + cols : p0;
    const p2 = some > 2 ? p1 + cols : p0;
    const p3 = some > 3 ? p2 + cols : p0;
    for (let t = 0; t < n; t++) {
      const from = t * cols;
      const to = t * rows + o;
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let i = 0; i < cols; i++) {
        const v = x[from + i];
        a += v * data[p0 + i];
        b += v * data[p1 + i];
        c += v * data[p2 + i];
        d += v * data[p3 + i];
      }
      y[to] = a;
      if (some > 1) y[to + 1] = b;
      if (some > 2) y[to + 2] = c;
      if (some > 3) y[to + 3] = d;
      if (bias) for (let r = 0; r < some; r++) y[to + r] += bias[o + r];
    }
  }
  return y;
}

// One query's attention: write its weights over `count` keys, and add up the values. `wide` is what lies
// between one token's keys and the next one's; q, k, v and out begin at the head's first channel.
export function attend({ q, k, v, out, weights, count, size, wide }) {
  const scale = 1 / Math.sqrt(size);
  let largest = -Infinity;
  for (let j = 0; j < count; j++) {
    let score = 0;
    for (let c = 0; c < size; c++) score += q[c] * k[j * wide + c];
    weights[j] = score * scale;
    if (weights[j] > largest) largest = weights[j];
  }
  let sum = 0;
  for (let j = 0; j < count; j++) sum += weights[j] = Math.exp(weights[j] - largest);
  out.fill(0, 0, size);
  for (let j = 0; j < count; j++) {
    const weight = (weights[j] /= sum);
    for (let c = 0; c < size; c++) out[c] += weight * v[j * wide + c];
  }
}
