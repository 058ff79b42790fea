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
