// A box that scrolls can be reached with the keyboard, and only then is a stop for it. All are looked at before
// any is changed: the browser lays the page out once.
function markScrollable() {
  const boxes = [...document.querySelectorAll("pre, .table-wrapper, .cell_output, div.math")];
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
addEventListener("load", markScrollable);
addEventListener("resize", markScrollable);

// From the disk a page may not read other pages: show the titles found, without excerpts.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined")
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Furo has two unnamed <aside>s; screen readers tell them apart by these names.
document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Lessons");
document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");

for (const caption of document.querySelectorAll(".sidebar-tree .caption"))
  caption.setAttribute("aria-level", 2);

// The buttons of a narrow page are labels: let the keyboard reach and press them.
for (const label of document.querySelectorAll("label.nav-overlay-icon, label.toc-overlay-icon")) {
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  const menu = label.classList.contains("nav-overlay-icon");
  label.setAttribute("aria-label", menu ? "Lessons" : "On this page");
  label.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    label.click();
  });
}

// What the search quotes of a page begins with the lesson, not with the line about the download.
if (typeof Search !== "undefined") {
  const whole = Search.htmlToText;
  Search.htmlToText = (html, anchor) =>
    whole(html.replace(/<p class="notebook-bar">.*?<\/p>/s, ""), anchor);
}
