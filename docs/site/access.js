// What a reader by keyboard or by ear needs, and the theme leaves out: names of the dialog and of the navigation, no
// landmark around each button that copies, and a way into what scrolls.
(() => {
  const each = (query, act) => document.querySelectorAll(query).forEach(act);

  function name(nav) {
    if (document.getElementById(nav.getAttribute("aria-labelledby"))?.textContent.trim()) return;
    const title = nav.querySelector(".md-nav__title")?.textContent.trim();
    nav.removeAttribute("aria-labelledby");
    if (title) nav.setAttribute("aria-label", `Pages: ${title}`);
  }

  function mend() {
    each(".md-search[role=dialog]:not([aria-label])", (dialog) => dialog.setAttribute("aria-label", "Search"));
    each(".md-nav[aria-labelledby]", name);
    each(".md-code__nav:not([role])", (nav) => nav.setAttribute("role", "none"));
    each("pre > code:not([tabindex]), .md-typeset__scrollwrap:not([tabindex])", (part) => {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    });
  }

  const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["tabindex"] };
  new MutationObserver(mend).observe(document.documentElement, watched);
  addEventListener("resize", mend);
  addEventListener("load", mend);
})();
