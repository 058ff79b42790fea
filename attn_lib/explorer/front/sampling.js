// From logits to the next token.

// Probabilities at a temperature (at 0 all for the largest), and which of them top-p leaves: the most
// probable tokens that together reach it. In order, the most probable first.
export function probabilities(logits, temperature, topP) {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);
  const weight = (id, i) =>
    temperature ? Math.exp((logits[id] - logits[order[0]]) / temperature) : Number(i === 0);
  const raised = order.map(weight);
  const sum = raised.reduce((a, b) => a + b, 0);
  let before = 0;
  return order.map((id, i) => {
    const p = raised[i] / sum;
    const kept = p > 0 && before < topP;
    before += p;
    return { id, p, kept };
  });
}

// Draw one of those that were kept.
export function sample(candidates, random = Math.random()) {
  const kept = candidates.filter((candidate) => candidate.kept);
  let left = random * kept.reduce((sum, { p }) => sum + p, 0);
  return (kept.find(({ p }) => (left -= p) < 0) ?? kept[0]).id;
}
