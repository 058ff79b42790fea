// A lesson as slides, for a class: each heading with its questions, what folds open, its formulas and its figures.

(() => {
  const isChinese = document.documentElement.lang.startsWith("zh");
  const WORDS = isChinese
    ? { show: "幻灯片放映", back: "上一页", on: "下一页", close: "回到课文" }
    : { show: "Show as slides", back: "Back", on: "On", close: "To the lesson" };
  const KEPT = "h1, h2, h3, p, details, div.math, .cell_output img";

  // Return the slides of an article as lists of copies: a heading first, then at most one figure in each.
  function slidesOf(article) {
    const found = [];
    let heading;
    const begin = () => found.push([heading.cloneNode(true)]);
    for (const node of article.querySelectorAll(KEPT)) {
      const isHeading = /^h[123]$/.test(node.localName);
      if (isHeading) heading = node;
      if (!heading || node.parentElement.closest("details, figure, blockquote, .notebook-bar")) continue;
      if (isHeading) begin();
      else if (node.localName === "p" && !/[?？]$/.test(node.textContent.trim())) continue;
      else if (getComputedStyle(node).display === "none") continue; // the form of a picture for the other theme
      else {
        const isFigure = node.localName === "img";
        const before = node.previousElementSibling;
        const isAsked = node.localName === "details" && before?.localName === "p" && !/[?？]$/.test(before.textContent.trim());
        const isLarge = (one) => one.localName === "picture" || one.localName === "img" || one.localName === "details";
        if (found.at(-1).some(isLarge) && (isFigure || node.localName !== "details")) begin();
        if (isAsked) found.at(-1).push(before.cloneNode(true));
        found.at(-1).push(copyOf(node));
      }
    }
    return found.filter((slide, i) => i === 0 || slide.length > 1);
  }

  const copyOf = (node) => (node.closest("picture") ?? node).cloneNode(true);

  function present(article, begin) {
    const slides = slidesOf(article);
    let at = Math.min(Math.max(begin, 0), slides.length - 1);
    const dialog = document.createElement("dialog");
    dialog.className = "slides";
    const make = (name, words, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: words, onclick: act });
      made.setAttribute("aria-label", name);
      return made;
    };
    const slide = Object.assign(document.createElement("div"), { className: "slide" });
    const place = document.createElement("span");
    place.setAttribute("role", "status");
    const bar = document.createElement("nav");
    const go = (to) => {
      at = Math.min(Math.max(to, 0), slides.length - 1);
      slide.replaceChildren(...slides[at]);
      slide.scrollTop = 0;
      place.textContent = isChinese ? `${at + 1} / ${slides.length}` : `${at + 1} of ${slides.length}`;
      history.replaceState(null, "", `#slide=${at + 1}`);
    };
    bar.append(
      make(WORDS.back, "←", () => go(at - 1)),
      place,
      make(WORDS.on, "→", () => go(at + 1)),
      make(WORDS.close, "✕", () => dialog.close()),
    );
    dialog.append(slide, bar);
    const steps = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
    dialog.addEventListener("keydown", (event) => {
      const goal = { Home: 0, End: slides.length - 1 }[event.key] ?? (event.key in steps ? at + steps[event.key] : null);
      if (goal === null) return;
      event.preventDefault();
      go(goal);
    });
    dialog.addEventListener("close", () => {
      history.replaceState(null, "", location.pathname + location.search);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    bar.children[2].focus();
    go(at);
  }

  const article = document.querySelector("article");
  const bar = document.querySelector(".notebook-bar");
  if (location.pathname.includes("/notebooks/") && article && bar) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: WORDS.show });
    button.addEventListener("click", () => present(article, 0));
    bar.append(" · ", button);
    const [, wanted] = location.hash.match(/^#slide=(\d+)$/) ?? [];
    if (wanted) present(article, wanted - 1);
  }
})();
