"use strict";
// The keys of the marking page. Without this script the form works, too.

const form = document.getElementById("mark");
const points = document.getElementById("points");
const items = [...form.querySelectorAll("input[name=item]")];
const sum = document.getElementById("sum");
const together = form.elements.together;
let sent = false;
let asked = false;

function show() {
  const total = items.filter((item) => item.checked)
    .reduce((all, item) => all + Number(item.dataset.points), 0);
  const counted = Math.min(Math.max(total, 0), Number(form.dataset.most));
  sum.textContent = `of ${Number(form.dataset.most)}; the items give ${Number(counted.toFixed(4))}`;
}

function choose(item, on) {
  item.checked = on;
  for (const other of items) {
    if (on && other !== item && item.dataset.oneOf && other.dataset.oneOf === item.dataset.oneOf) {
      other.checked = false;
    }
  }
  points.value = "";
  show();
}

// How many answers a save marks: the button says it, and a save of several asks once.
function answers() {
  return together?.checked ? Number(together.dataset.others) + 1 : 1;
}

function count() {
  document.getElementById("save").textContent =
    answers() > 1 ? `Save for ${answers()} answers` : "Save and next";
  document.getElementById("asked").replaceChildren();
  asked = false;
}

function ask() {
  const told = document.createElement("p");
  told.className = "notice";
  told.textContent = `This saves one mark for ${answers()} answers. `
    + "Enter again saves them. After G, Enter saves this one alone.";
  document.getElementById("asked").replaceChildren(told);
  document.getElementById("save").scrollIntoView({ block: "nearest" });
  asked = true;
}

function send(one) {
  if (one && !sent) one.requestSubmit();
}

const keys = {
  a: () => items.filter((item) => Number(item.dataset.points) > 0)
    .sort((one, other) => one.dataset.points - other.dataset.points)
    .forEach((item) => choose(item, true)),
  0: () => {
    items.forEach((item) => choose(item, false));
    points.value = "0";
  },
  j: () => items.filter((item) => item.closest("label").querySelector("[data-suggested]"))
    .forEach((item) => choose(item, true)),
  c: () => document.getElementById("comment").focus(),
  p: () => points.select(),
  g: () => together?.click(),
  f: () => document.getElementById("outputs").click(),
  w: () => document.getElementById("whole").click(),
  n: () => document.getElementById("skip").click(),
  u: () => send(document.getElementById("undo")),
  s: () => send(document.getElementById("split")),
};

document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  const isText = at.matches("textarea, input:not([type=checkbox])");
  if (event.key === "Escape") at.blur();
  if (event.key === "Enter" && event.repeat && !at.matches("textarea")) {
    event.preventDefault(); // a key that is held down does not answer what it was asked
    return;
  }
  if (event.key === "Enter" && (event.ctrlKey || (!isText && !at.matches("a, button, summary")))) {
    event.preventDefault();
    send(form);
  }
  if (isText || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const key = event.key.toLowerCase();
  if (/^[1-9]$/.test(key) && items[key - 1]) {
    choose(items[key - 1], !items[key - 1].checked);
  } else if (keys[key]) {
    event.preventDefault();
    keys[key]();
  }
});

items.forEach((item) => item.addEventListener("change", () => choose(item, item.checked)));
together?.addEventListener("change", count);
for (const one of document.forms) {
  one.addEventListener("submit", (event) => {
    if (sent) {
      event.preventDefault();
    } else if (one === form && answers() > 1 && !asked) {
      event.preventDefault();
      ask();
    } else {
      sent = true;
    }
  });
}
window.addEventListener("pageshow", () => {
  sent = false;
  count();
});
show();
