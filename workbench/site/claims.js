/* The ledger's table, filtered by verdict, paper, section and words; the address keeps the filters. */
"use strict";
(function () {
  const names = ["verdict", "paper", "section", "words"];
  const control = (name) => document.getElementById(`by-${name}`);
  const rows = Array.from(document.querySelectorAll("#claims tbody tr"));

  function show() {
    const words = control("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits = ["verdict", "paper", "section"].every((name) => !control(name).value || row.dataset[name] === control(name).value) &&
        words.every((word) => row.textContent.toLowerCase().includes(word));
      row.hidden = !fits;
      count += fits;
    }
    document.getElementById("claims-shown").textContent = `${count} of ${rows.length}`;
    const parts = new URLSearchParams(names.filter((name) => control(name).value).map((name) => [name, control(name).value]));
    history.replaceState(null, "", `#${parts}`);
  }

  const parts = new URLSearchParams(location.hash.slice(1));
  for (const name of names) {
    control(name).value = parts.get(name) || "";
    if (control(name).selectedIndex === -1) control(name).value = "";
    control(name).addEventListener("input", show);
  }
  show();
})();
