// Letters are as large as the slide's text, its longest line of code and its tables allow.
const [WIDTH, HEIGHT, MOST, LEAST] = [1280, 720, 36, 20];

function fit(part, section) {
  const wide = [...part.querySelectorAll("pre, a:has(> table)")];
  const isFull = () =>
    section.scrollHeight > HEIGHT || wide.some((each) => each.scrollWidth > each.clientWidth);
  for (let size = MOST; size >= LEAST; size--) {
    part.style.fontSize = `${size}px`;
    if (!isFull()) return;
  }
}

function fitBoth(section) {
  fit(section, section);
  for (const answer of section.querySelectorAll(".answer")) {
    answer.classList.add("visible"); // it takes the place of its question
    fit(answer, section);
    answer.classList.remove("visible");
  }
}

// Right leaves an answer out, and shows the next moment of a player. What a presenter's remote
// sends (Page Down) and the space bar show both.
function goRight() {
  const section = Reveal.getCurrentSlide();
  if (section.querySelector(".moment:not(.visible)")) Reveal.nextFragment();
  else Reveal.slide(Reveal.getIndices().h + 1);
}

Reveal.initialize({
  width: WIDTH, height: HEIGHT, margin: 0, center: false, hash: true, slideNumber: "c/t",
  controls: false, progress: false, transition: "none", maxScale: 4, keyboard: { 39: goRight },
}).then(() => {
  document.body.classList.add("all-slides"); // else those that are not on the screen have no size
  Reveal.getSlides().forEach(fitBoth);
  document.body.classList.remove("all-slides");
});
