// A box that scrolls can be reached with the keyboard.
function reachable() {
  for (const box of document.querySelectorAll("pre, .table-wrapper"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
}
addEventListener("load", reachable);
addEventListener("resize", reachable);

// The captions of the menu are headings, so they need a level.
addEventListener("load", () =>
  document.querySelectorAll("p.caption[role=heading]").forEach((line) => (line.ariaLevel = 2)),
);

// A player plays once when it is first seen, unless the reader wants no motion.
const seen = new IntersectionObserver(
  (entries) =>
    entries
      .filter((entry) => entry.isIntersecting)
      .forEach(({ target }) => {
        seen.unobserve(target);
        [...target.querySelectorAll("button")].find((button) => button.innerText === "play")?.click();
      }),
  { threshold: 0.8 },
);
if (!matchMedia("(prefers-reduced-motion: reduce)").matches)
  addEventListener("load", () =>
    document.querySelectorAll(".player").forEach((player) => seen.observe(player)),
  );
