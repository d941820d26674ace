// Guesses as dots over an axis, with their median; the measured number when the button is pressed.
const [WIDTH, BASE, EDGE, DOT] = [1000, 260, 60, 9];
const guesses = [];
let isShown = false;

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const words = (value) => `${Number(value.toPrecision(3))} ${poll.unit}`;

function part(name, look, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(look)) made.setAttribute(key, value);
  made.textContent = text;
  document.querySelector("svg").append(made);
}

function draw() {
  document.querySelector("svg").replaceChildren();
  const values = [...guesses, ...(isShown ? [poll.measured] : [])];
  if (!values.length) return;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const scale = low > 0 && high > 20 * low ? Math.log10 : (value) => value;
  const wide = scale(high) - scale(low) || 1;
  const place = (value) => EDGE + ((scale(value) - scale(low)) / wide) * (WIDTH - 2 * EDGE);
  part("line", { x1: 0, x2: WIDTH, y1: BASE, y2: BASE, stroke: "#c3cad3" });
  const heights = new Map();
  for (const value of guesses) {
    const column = Math.round(place(value) / (2 * DOT));
    const n = (heights.get(column) ?? 0) + 1;
    heights.set(column, n);
    const cy = Math.max(BASE - DOT * (2 * n - 1), 40);
    part("circle", { cx: place(value), cy, r: DOT - 1, fill: "#0072b2" });
  }
  const marks = guesses.length ? [["median guess", median(guesses), "#1f2933", BASE + 30]] : [];
  if (isShown) marks.push(["measured", poll.measured, "#b3541e", 18]);
  for (const [name, value, color, y] of marks) {
    const x = place(value);
    const anchor = x > WIDTH / 2 ? "end" : "start";
    part("line", { x1: x, x2: x, y1: 24, y2: BASE + 8, stroke: color, "stroke-width": 3 });
    const look = { x, y, fill: color, "font-size": 22, "text-anchor": anchor };
    part("text", look, `${name}: ${words(value)}`);
  }
  const ratio = isShown && guesses.length ? median(guesses) / poll.measured : 0;
  const found = ratio ? ` The median guess is ${Number(ratio.toPrecision(2))} times the measured.` : "";
  document.querySelector("#said").textContent = `Guesses: ${guesses.length}.${found}`;
}

document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector("input");
  const numbers = input.value.split(/[\s,;]+/).filter(Boolean).map(Number);
  if (numbers.every(Number.isFinite)) {
    guesses.push(...numbers);
    input.value = "";
    draw();
  } else {
    document.querySelector("#said").textContent = "Type numbers, with spaces between them.";
  }
});

document.querySelector("#show").addEventListener("click", () => {
  isShown = !isShown;
  draw();
});
