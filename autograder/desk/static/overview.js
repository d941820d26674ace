"use strict";
// The overview follows the grading: it is loaded again while nobody pauses it.

const EVERY_MS = 15_000;
const pause = document.getElementById("pause");
setInterval(() => { if (!pause.checked) location.reload(); }, EVERY_MS);
