/* Two steps in the dark, on the front page: the oracle loop without memory, with one bit and with OA1, on a table that can be changed. */
"use strict";
(function (W) {
  const $ = (id) => document.getElementById(id);
  const MEMORIES = [
    { name: "none", words: "no memory", color: "#7f7f7f", dash: "2 3" },
    { name: "B1", words: "one bit", color: "#009e73", dash: "7 3" },
    { name: "OA1", words: "OA1", color: "#d55e00", dash: "" },
  ];
  const TASKS = {
    "trap-needs": {
      rewards: ["0", "6", "5", "2"],
      story: "The best pair is 0, then 1. The two actions differ and the agent sees nothing, so only memory can tell it that it has already acted.",
    },
    "trap-hurts": {
      rewards: ["5", "4", "0", "6"],
      story: "The best pair is 1, then 1. The agent can always take action 1, so it needs no memory. With a bit it can tell its first time step from its second, and in the first one action 0 looks better: 4.5 on average against 3.",
    },
  };
  const MOST = 3000, DRAWN = 400, SIZE = { width: 560, height: 270, left: 40, right: 12, top: 14, bottom: 40 };
  const inputs = Array.from($("trap-table").querySelectorAll("input"));
  let runs = [], frame = null;

  function rewards() {
    const numbers = inputs.map((input) => W.parseNumber(input.value));
    inputs.forEach((input, i) => input.setAttribute("aria-invalid", !Number.isFinite(numbers[i])));
    return numbers.every(Number.isFinite) ? [numbers.slice(0, 2), numbers.slice(2)] : null;
  }

  /** New loops from the uniform policy; false if a reward is no number. */
  function begin() {
    cancelAnimationFrame(frame);
    const table = rewards();
    if (!table) {
      runs = [];
      $("trap-verdict").textContent = "A reward is no number: write one such as 5, 0.5 or 1/2.";
      return false;
    }
    runs = MEMORIES.map((memory) => ({ memory, loop: new W.Loop(W.augment(W.twoStep(table, "two steps"), memory.name), "visits") }));
    runs.best = Math.max(...table.flat());
    draw();
    return true;
  }

  function draw() {
    const { width, height, left, right, top, bottom } = SIZE, table = runs.flatMap(({ loop }) => loop.values);
    let low = Math.min(runs.best, ...table), high = Math.max(runs.best, ...table);
    const margin = Math.max(0.1, 0.08 * (high - low));
    low -= margin;
    high += margin;
    const count = Math.min(DRAWN, Math.max(60, ...runs.map(({ loop }) => loop.values.length - 1)));
    const x = (n) => left + ((width - left - right) * n) / count, y = (v) => top + ((height - top - bottom) * (high - v)) / (high - low);
    const level = `<line class="level" x1="${left}" x2="${width - right}" y1="${y(runs.best)}" y2="${y(runs.best)}"/>` +
      `<text x="${left + 4}" y="${y(runs.best) - 5}">best possible ${W.shown(runs.best)}</text>`;
    const lines = runs.map(({ memory, loop }) => {
      const drawn = loop.values.slice(0, count + 1), last = drawn.length - 1; // a loop that goes back and forth is followed further than it is drawn
      const points = drawn.map((v, n) => `${x(n).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
      return `<polyline points="${points}" fill="none" stroke="${memory.color}" stroke-width="3" stroke-dasharray="${memory.dash}"/>` +
        `<circle cx="${x(last)}" cy="${y(loop.values[last])}" r="4" fill="${memory.color}"/>`;
    }).join("");
    const names = runs.map(({ memory }, i) => `<g transform="translate(${left + 110 + i * 120} ${height - 30})">` +
      `<line x1="0" x2="26" y1="0" y2="0" stroke="${memory.color}" stroke-width="3" stroke-dasharray="${memory.dash}"/><text x="32" y="4">${memory.words}</text></g>`).join("");
    const now = runs.map(({ memory, loop }) => `${memory.words} ${W.shown(loop.values[loop.values.length - 1])}`).join(", ");
    $("trap-chart").innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="value of the policy after each update; now ${W.escape(now)}">` +
      `<text x="${left - 6}" y="${y(low + margin) + 4}" text-anchor="end">${W.shown(low + margin, 2)}</text>` +
      `<text x="${left - 6}" y="${y(high - margin) + 4}" text-anchor="end">${W.shown(high - margin, 2)}</text>` +
      `${level}${lines}${names}<text x="${width - right}" y="${height - 5}" text-anchor="end">updates</text>` +
      `<text x="4" y="${top - 2}">value</text></svg>`;
  }

  const near = (x, y) => Math.abs(x - y) < 1e-6 * Math.max(1, Math.abs(y));

  /** Whether no memoryless policy earns the most: a pair of different actions is the only best one. */
  const needsMemory = ([[r00], [, r11]]) => !near(r00, runs.best) && !near(r11, runs.best);

  function tell() {
    const said = runs.map(({ memory, loop }, i) => {
      const who = i === 0 ? "without memory learning" : `with ${memory.words} it`;
      if (!loop.ended) return `${who} is at ${W.shown(loop.values[loop.values.length - 1])}`;
      const { how, value } = loop.ended;
      return how === "fixed" ? `${who} ends at ${W.shown(value)}${near(value, runs.best) ? ", the best" : ""}` : `${who} goes back and forth around ${W.shown(value)}`;
    });
    const [none, bit, pairs] = runs.map(({ loop }) => Boolean(loop.ended) && near(loop.ended.value, runs.best)), needed = needsMemory(rewards());
    const task = needed ? "This task needs memory" : "This task needs no memory";
    const moral = needed && bit && pairs ? `${task}, and both memories learn what to store.`
      : needed && pairs ? `${task}. One bit is enough to store the first action, but learning gets stuck before it uses it well. With OA1 it does not.`
      : !needed && none && !bit ? `${task}, and the bit hurts: with it learning gets stuck below what it reaches without.`
      : bit && pairs ? `${task}, and both memories do no harm.` : `${task}.`;
    const text = said.join("; ");
    $("trap-verdict").textContent = `${text[0].toUpperCase()}${text.slice(1)}. ${moral}`;
  }

  function run() {
    if (!begin()) return;
    const step = Number($("trap-step").value), at_once = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const move = (many) => {
      let going = false;
      for (const { loop } of runs) for (let i = 0; i < many && !loop.ended && loop.n < MOST; i++) going = loop.step(step) || going;
      return going;
    };
    const tick = () => {
      const going = move(at_once ? MOST : runs.some(({ loop }) => loop.n < DRAWN && !loop.ended) ? 4 : 100);
      draw();
      if (going && !at_once) frame = requestAnimationFrame(tick);
      else tell();
    };
    $("trap-verdict").textContent = "Learning …";
    tick();
  }

  /** One of the two tasks; null for a table of the reader's own. */
  function choose(id) {
    for (const name of Object.keys(TASKS)) $(name).setAttribute("aria-pressed", name === id);
    if (id) inputs.forEach((input, i) => { input.value = TASKS[id].rewards[i]; });
    $("trap-story").textContent = id ? TASKS[id].story : "Your own rewards.";
    const [a, b, c, d] = inputs.map((input) => encodeURIComponent(input.value.trim()));
    $("trap-open").href = `explorer.html#task=recall4&m=B1&r=${a},${b};${c},${d}`;
    run();
  }

  inputs.forEach((input) => input.addEventListener("change", () => choose(null)));
  $("trap-run").addEventListener("click", run);
  for (const id of Object.keys(TASKS)) $(id).addEventListener("click", () => choose(id));
  $("trap-step").addEventListener("input", () => { $("trap-step-shown").textContent = $("trap-step").value; if (runs.length) run(); });
  choose("trap-needs");
})(Workbench);
