// Play a recording word by word. Who wants less motion sees the first text as a whole, and may press the button.
for (const figure of document.querySelectorAll(".recording")) {
  const steps = JSON.parse(figure.dataset.steps);
  const [words, next, button] = [".words", ".next", "button"].map((name) => figure.querySelector(name));
  const element = (kind, text, style = "") => {
    const made = document.createElement(kind);
    made.textContent = text;
    made.style.cssText = style;
    return made;
  };
  let step = 0;
  let timer = 0;

  function show() {
    const { words: all, weights, given, next: likely } = steps[step];
    const largest = Math.max(...weights, 0.2);
    words.replaceChildren(
      ...all.map((word, i) => {
        const made = element(i < given ? "span" : "b", word);
        made.style.setProperty("--share", `${Math.round((45 * weights[i]) / largest)}%`);
        return made;
      }),
    );
    next.replaceChildren(
      ...likely.map(([word, p]) => {
        const row = element("div", "");
        row.append(element("code", word), element("i", "", `width:${60 * p}%`), element("small", p.toFixed(2)));
        return row;
      }),
    );
    const isLast = step + 1 === steps.length || steps[step + 1].words.length < all.length;
    step = (step + 1) % steps.length;
    if (timer !== null) timer = setTimeout(show, isLast ? 2600 : all.length === given ? 1500 : 650);
  }

  function play(on) {
    clearTimeout(timer);
    timer = on ? 0 : null;
    button.textContent = on ? "Pause" : "Play";
    if (on) show();
  }

  button.hidden = false;
  button.addEventListener("click", () => play(timer === null));
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
}
