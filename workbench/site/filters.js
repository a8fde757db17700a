/* A table, filtered by what its rows say of themselves (data-...) and by words, and put into the order of a column by its head;
   the address keeps the filters. */
"use strict";
(function () {
  const box = document.querySelector(".filters");
  const table = document.getElementById(box.dataset.table);
  const controls = new Map(Array.from(box.querySelectorAll("select, input"), (one) => [one.id.replace("by-", ""), one]));
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);

  function show() {
    const words = controls.get("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Array.from(controls).filter(([name, one]) => name !== "words" && one.value);
    let count = 0;
    for (const row of rows) {
      const fits = chosen.every(([name, one]) => row.dataset[name] === one.value) &&
        words.every((word) => row.textContent.toLowerCase().includes(word));
      row.hidden = !fits;
      count += fits;
    }
    box.querySelector("output").textContent = `${count} of ${rows.length}`;
    const parts = new URLSearchParams(Array.from(controls).filter(([, one]) => one.value).map(([name, one]) => [name, one.value]));
    history.replaceState(null, "", `#${parts}`);
  }

  function read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    for (const [name, one] of controls) {
      one.value = parts.get(name) || "";
      if (one.selectedIndex === -1) one.value = "";
    }
    show();
  }

  for (const one of controls.values()) one.addEventListener("input", show);
  window.addEventListener("hashchange", read);
  read();

  const key = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent;
  const number = new Intl.Collator("en", { numeric: true });
  for (const head of table.querySelectorAll("th button")) {
    const cell = head.parentElement;
    head.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      // What has no number comes last, in either order.
      const side = (x, y) => (x === "" || y === "" ? (x === "") - (y === "") : (down ? -1 : 1) * (isNaN(x) || isNaN(y) ? number.compare(x, y) : x - y));
      body.append(...[...rows].sort((a, b) => side(key(a, cell.cellIndex), key(b, cell.cellIndex))));
    });
  }
})();
