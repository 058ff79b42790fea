// A box that scrolls can be reached with the keyboard, and only then is a stop for it. All are looked at before
// any is changed: the browser lays the page out once.
function markScrollable() {
  const boxes = [...document.querySelectorAll("pre, .table-wrapper, .cell_output, div.math, .across")];
  const scrolls = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
  boxes.forEach((box, i) => {
    if (scrolls[i]) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    box.parentElement.classList.toggle("has-scrolling", scrolls[i]);
  });
}
// On a phone a large figure keeps its size and scrolls: shrunk, its labels could not be read.
function markWide() {
  for (const image of document.querySelectorAll(".cell_output img:not(picture > *)"))
    image.classList.toggle("wide", image.getAttribute("width") > 560); // it may not be loaded yet
}
addEventListener("load", markWide);
addEventListener("load", () => {
  markScrollable();
  document.querySelector(":target")?.scrollIntoView(); // the lines that it adds have pushed it down
});
addEventListener("resize", markScrollable);

// From the disk a page may not read other pages: show the titles found, without excerpts.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined")
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Furo has two unnamed <aside>s; screen readers tell them apart by these names.
document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Lessons");
document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");

for (const caption of document.querySelectorAll(".sidebar-tree .caption"))
  caption.setAttribute("aria-level", 2);

for (const link of document.querySelectorAll(".sidebar-tree a"))
  link.classList.toggle("exercise", link.href.includes("/exercises/")); // of its own page it is "#"

// The buttons of a narrow page are labels of a hidden box: make them buttons, for the keyboard.
for (const label of document.querySelectorAll("label.nav-overlay-icon, label.toc-overlay-icon")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = label.className;
  button.append(...label.childNodes);
  const menu = label.classList.contains("nav-overlay-icon");
  button.setAttribute("aria-label", menu ? "Lessons" : "On this page");
  button.addEventListener("click", () => document.getElementById(label.htmlFor).click());
  label.replaceWith(button);
}

// On paper, folded answers are open.
const unfolded = [];
addEventListener("beforeprint", () => {
  unfolded.push(...document.querySelectorAll("details:not([open])"));
  for (const answer of unfolded) answer.open = true;
});
addEventListener("afterprint", () => {
  for (const answer of unfolded.splice(0)) answer.open = false;
});

// What the search quotes of a page begins with the lesson, not with the line about the download.
if (typeof Search !== "undefined") {
  const whole = Search.htmlToText;
  Search.htmlToText = (html, anchor) =>
    whole(html.replace(/<p class="notebook-bar">.*?<\/p>/s, ""), anchor);
}

// A hit leads to the words that were looked for, not to the top of a long page.
const hits = document.getElementById("search-results");
if (hits)
  new MutationObserver(() => {
    const words = new URLSearchParams(location.search).get("q")?.trim();
    for (const link of hits.querySelectorAll("li a[href]"))
      if (words && !link.hash)
        link.setAttribute("href", `${link.getAttribute("href")}#:~:text=${encodeURIComponent(words).replaceAll("-", "%2D")}`);
  }).observe(hits, { childList: true, subtree: true });

// The map of the lessons shows which one was read last, on this device. Where nothing may be kept, it shows none.
try {
  const [, lesson] = location.pathname.match(/notebooks\/(\d\d_\w+)\.html$/) ?? [];
  if (lesson) localStorage.setItem("lesson", lesson);
  const last = localStorage.getItem("lesson");
  if (last) document.querySelector(`.map a[href$="${last}.html"]`)?.classList.add("here");
} catch {
  // no storage
}

// A page in two languages has a link to the other one. Who has followed it is offered that language on later pages,
// and never sent there.
for (const link of document.querySelectorAll(".languages a[hreflang]")) {
  const stored = (use) => {
    try {
      return use(localStorage);
    } catch {
      return null; // the browser keeps nothing
    }
  };
  link.addEventListener("click", () => stored((kept) => kept.setItem("language", link.hreflang)));
  if (stored((kept) => kept.getItem("language")) === link.hreflang) {
    link.textContent = link.dataset.offer;
    link.classList.add("offered");
  }
}
