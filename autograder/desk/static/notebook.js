"use strict";
// W goes back to where the whole notebook was opened.

document.addEventListener("keydown", (event) => {
  const isText = document.activeElement.matches("textarea, input");
  if (event.key === "Escape") document.activeElement.blur();
  if (isText || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.key.toLowerCase() === "w") document.getElementById("back").click();
});
