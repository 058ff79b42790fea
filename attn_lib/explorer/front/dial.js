import { BLUE, INK, ORANGE, SOFT, round, text } from "./draw.js";
import { h } from "./page.js";
import { halfTurn, hand, pairsOf, range } from "./turning.js";

const ray = (from, to, look) => h("path", { d: `M${round(from)} 0H${round(to)}`, ...look });

// A dial: a rim, the two hands and where they stand at position 0. A large one has letters and an arc.
export function dial(model, { query, key, moved }, pair, x, y, radius, large) {
  const all = range(pairsOf(model)).flatMap((c) => [
    hand(model, model.q, c, 0).length,
    hand(model, model.k, c, 0).length,
  ]);
  const unit = (radius - 3) / Math.max(...all, 1e-9);
  const [q, k] = [hand(model, model.q, pair, query), hand(model, model.k, pair, key)];
  // As an attribute for the saved file, as style because only that glides.
  const turned = (angle, ...inside) =>
    h("g", { transform: `rotate(${round(-angle)})`, style: `transform:rotate(${round(-angle)}deg)` }, inside);
  const upright = (x, angle, ...inside) =>
    h(
      "g",
      {
        transform: `translate(${round(x)}) rotate(${round(angle)})`,
        style: `transform:translate(${round(x)}px) rotate(${round(angle)}deg)`,
      },
      inside,
    );
  const pointer = ({ length, angle, start }, name, color, width, place) => {
    const long = length * unit;
    return [
      large && turned(start, ray(0, long, { stroke: color, "stroke-dasharray": "3 4" })),
      turned(
        angle,
        ray(0, long, { stroke: color, "stroke-width": width, "stroke-linecap": "round" }),
        large &&
          upright(
            place * long,
            angle,
            h("circle", { r: 9, fill: "var(--paper)", stroke: color, "stroke-width": 2 }),
            text(0, 0, name, { "text-anchor": "middle", "font-weight": 700, fill: color }),
          ),
      ),
    ];
  };
  const between = (halfTurn(q.angle - k.angle) * Math.PI) / 180,
    bow = Math.max(Math.min(0.3 * radius, 0.7 * unit * Math.min(q.length, k.length)), 8);
  const arc = `M${round(bow)} 0A${round(bow)} ${round(bow)} 0 0 ${between > 0 ? 0 : 1} ${round(bow * Math.cos(between))} ${round(-bow * Math.sin(between))}`;
  return h(
    "g",
    { transform: `translate(${round(x)} ${round(y)})` },
    h("circle", { r: radius, fill: "none", stroke: SOFT, "stroke-width": large ? 1.5 : 1 }),
    large && range(12).map((n) => turned(30 * n, ray(radius - (n % 3 ? 5 : 10), radius, { stroke: SOFT }))),
    // What moves by "Both" is seen turning: hands and arc glide together.
    h(
      "g",
      { class: moved ? "glide" : null },
      large && turned(k.angle, h("path", { d: arc, fill: "none", stroke: INK, "stroke-width": 2.5 })),
      pointer(k, "k", ORANGE, large ? 6 : 4, 0.66),
      pointer(q, "q", BLUE, large ? 3 : 2, 1),
    ),
  );
}
