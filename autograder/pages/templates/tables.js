for (const table of document.querySelectorAll("table.tool")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent.trim();
  heads.forEach((head, i) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.ariaSort = sign > 0 ? "ascending" : "descending";
      const order = (a, b) => value(a, i).localeCompare(value(b, i), "en", { numeric: true });
      const number = row => row.cells[i].dataset.value;
      const rows = [...body.rows].sort((a, b) =>
        sign * (number(a) === undefined ? order(a, b) : number(a) - number(b)));
      body.append(...rows);
    };
  });
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = field.ariaLabel = `Filter these ${table.dataset.what}`;
  field.oninput = () => {
    const wanted = field.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  };
  table.parentElement.before(field);
}
