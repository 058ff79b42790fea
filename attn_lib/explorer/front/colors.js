// The course's two color maps, safe for color-blind readers, as even steps of matplotlib's maps of these names.

export const CIVIDIS =
  "#00224e #00285b #002e6a #053371 #1a386f #273e6e #32436d #3b496c #434e6c #4b546c #535a6d #5a5f6e #61656f #686a71 #6f7073 #767676 #7d7c78 #848279 #8c8878 #938e78 #9b9476 #a39a74 #aba072 #b4a76f #bcae6c #c4b468 #cdbb63 #d5c25e #dec958 #e7d150 #f0d846 #f9e03a #fee838".split(
    " ",
  );
export const PUOR =
  "#7f3b08 #a04d07 #be630a #db7d12 #ef9e3c #fdbd6e #fed7a2 #fbe9cf #f6f6f7 #e3e4ef #cecde4 #b6b0d4 #988dbe #7967a6 #5d3790 #44176f #2d004b".split(
    " ",
  );

function lookUp(stops, t) {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const channel = (color, i) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => {
    const [a, b] = [channel(stops[low], i), channel(stops[low + 1], i)];
    return Math.round(a + (b - a) * (at - low))
      .toString(16)
      .padStart(2, "0");
  });
  return "#" + mixed.join("");
}

export const weightColor = (w) => lookUp(CIVIDIS, w);
export const scoreColor = (score, largest) => lookUp(PUOR, (score / (largest || 1) + 1) / 2);

// Black or white, by the relative luminance of the color below (WCAG 2).
export function inkOn(color) {
  const [r, g, b] = [1, 3, 5]
    .map((i) => parseInt(color.slice(i, i + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
