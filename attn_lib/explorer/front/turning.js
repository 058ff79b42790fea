// What RoPE does to pairs of channels: each is a hand that turns with the position.

export const range = (n) => [...Array(n).keys()];
export const whole = (n) => n.toLocaleString("en-US").replace("-", "−");
export const degrees = (radians) => (180 / Math.PI) * radians;
// Between -180 and 180; what is 180 but for rounding stays 180.
export const halfTurn = (angle) => angle - 360 * Math.ceil(angle / 360 - 0.5 - 1e-9);
export const pairsOf = (model) => model.q.length / 2;

// How far a pair turns with each position: in radians, and written in degrees.
export const rate = (model, pair) => model.base ** (-pair / pairsOf(model));
export const rateWords = (model, pair, digits = 3) =>
  `${Number(degrees(rate(model, pair)).toPrecision(digits))}°`;

// A pair of channels (c, c + D/2) as a hand: its length and, in degrees, its direction at a position.
export function hand(model, vector, pair, position) {
  const [x, y] = [vector[pair], vector[pair + pairsOf(model)]];
  const start = degrees(Math.atan2(y, x));
  return { length: Math.hypot(x, y), start, angle: start + position * degrees(rate(model, pair)) };
}

export const score = (model, pair, difference) => {
  const [q, k] = [hand(model, model.q, pair, difference), hand(model, model.k, pair, 0)];
  return q.length * k.length * Math.cos(((q.angle - k.angle) * Math.PI) / 180);
};
export const total = (model, difference) =>
  range(pairsOf(model)).reduce((sum, pair) => sum + score(model, pair, difference), 0);

const point = ({ length, angle }) => [Math.cos, Math.sin].map((f) => length * f((angle * Math.PI) / 180));

// Each hand is turned by its own position; nothing here takes the difference of the positions.
export function numbers(model, { query, key, pair }) {
  const pairs = range(pairsOf(model)).map((c) => [
    hand(model, model.q, c, query),
    hand(model, model.k, c, key),
  ]);
  const scores = pairs.map((hands) => {
    const [q, k] = hands.map(point);
    return q[0] * k[0] + q[1] * k[1];
  });
  return {
    query,
    key,
    pair,
    hands: pairs[pair].map(point),
    angle: halfTurn(pairs[pair][0].angle - pairs[pair][1].angle),
    scores,
    total: scores.reduce((sum, one) => sum + one, 0),
  };
}
