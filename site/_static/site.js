// A box that scrolls can be reached with the keyboard, and only then is a stop for it.
function markScrollable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output, div.math")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", markScrollable);
addEventListener("resize", markScrollable);

// From the disk a page may not read other pages: show the titles found, without excerpts.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined")
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Furo has two unnamed <aside>s; screen readers tell them apart by these names.
document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Lessons");
document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
