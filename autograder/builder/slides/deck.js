// Letters are as large as the slide's text, its longest line of code and its tables allow.
const [WIDTH, HEIGHT, MOST, LEAST] = [1280, 720, 36, 10];

function fit(section) {
  const wide = [...section.querySelectorAll("pre, div:has(> table)")];
  const isFull = () =>
    section.scrollHeight > HEIGHT || wide.some((each) => each.scrollWidth > each.clientWidth);
  for (let size = MOST; size >= LEAST; size--) {
    section.style.fontSize = `${size}px`;
    if (!isFull()) return;
  }
}

Reveal.initialize({
  width: WIDTH, height: HEIGHT, margin: 0.02, center: false, hash: true, slideNumber: "c/t",
  transition: "none",
}).then(() => {
  document.body.classList.add("all-slides"); // else those that are not on the screen have no size
  Reveal.getSlides().forEach(fit);
  document.body.classList.remove("all-slides");
});
