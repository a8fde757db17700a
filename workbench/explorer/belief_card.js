/* Acting by belief: the value over the beliefs behind an observation, and which action is best where. */
"use strict";
(function (W) {
  const page = W.page, $ = (id) => document.getElementById(id);
  const WIDTH = 560, HEIGHT = 330, LEFT = 58, RIGHT = 14, TOP = 16, LOW = 62, BAND = 12;
  const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"]; // told apart also by their names
  const CLOSED = 1e-6, MOST_ROUNDS = 2000, PIECE = 60, PATIENCE = 15000; // milliseconds

  let values = null, made = null, later = null, spent = 0;

  const digits = (x) => String(Number(x.toPrecision(5))).replace("-", "\u2212");
  const stateText = (P, i) => P.base.S[P.s[i]];

  /** The bounds of the task on show, which does not depend on the memory; an error text where there are none. */
  function begin() {
    const { rewards } = page.state, model = rewards ? JSON.stringify(rewards) : page.shownTask().model;
    if (made && made.model === model) return;
    clearTimeout(later);
    later = null;
    made = { model, error: "" };
    values = null;
    spent = 0;
    try {
      values = new W.BeliefValues(W.augment(page.baseModel(), "none"));
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof W.NeverEnds)) throw error;
      made.error = error.message;
      return;
    }
    const { P, behind } = values;
    const rows = behind.flatMap((states, o) => (states.length === 2 ? [o] : []));
    $("belief-row").innerHTML = rows.map((o) => `<option value="${o}">${W.escape(P.base.O[P.rowO[o]])}</option>`).join("");
    const first = values.starts.find(({ o }) => rows.includes(o));
    if (first) $("belief-row").value = String(first.o);
    if (!rows.length) made.error = "every observation tells the state: there is nothing to believe";
  }

  function picture(o) {
    const { P, behind } = values, regions = values.regions(o), at = Array.from({ length: 201 }, (_, i) => i / 200);
    const low = at.map((x) => values.lowerAt(o, x)), high = at.map((x) => values.upperAt(o, x));
    const bottom = Math.min(...low), top = Math.max(...high), spread = top - bottom || 1;
    const px = (x) => LEFT + x * (WIDTH - LEFT - RIGHT), py = (v) => TOP + ((top - v) / spread) * (HEIGHT - TOP - LOW);
    const line = (ys) => at.map((x, i) => `${px(x).toFixed(1)},${py(ys[i]).toFixed(1)}`).join(" ");
    const floor = HEIGHT - LOW, parts = [];
    regions.forEach(({ from, to, a }) => {
      const x = px(from), wide = px(to) - x, name = W.escape(P.base.A[a]);
      parts.push(`<rect x="${x.toFixed(1)}" y="${TOP}" width="${wide.toFixed(1)}" height="${floor - TOP}" fill="${HUES[a % 6]}" fill-opacity="0.14"/>` +
        `<rect x="${x.toFixed(1)}" y="${floor}" width="${wide.toFixed(1)}" height="${BAND}" fill="${HUES[a % 6]}"><title>${name}</title></rect>`);
      if (wide > 7 * P.base.A[a].length) parts.push(`<text x="${(x + wide / 2).toFixed(1)}" y="${TOP + 14}" text-anchor="middle" font-weight="600">${name}</text>`);
    });
    const shade = `${line(low)} ${at.map((x, i) => `${px(x).toFixed(1)},${py(high[i]).toFixed(1)}`).reverse().join(" ")}`;
    parts.push(`<polygon points="${shade}" fill="currentColor" fill-opacity="0.25"/><polyline class="belief-line" points="${line(low)}"/>`);
    for (const { o: seen, x } of values.starts) if (seen === o) parts.push(`<circle class="agent" cx="${px(x).toFixed(1)}" cy="${py(values.lowerAt(o, x)).toFixed(1)}" r="5"><title>the start</title></circle>`);
    const ticks = W.niceTicks(bottom, top).map((v) => `<text x="${LEFT - 6}" y="${(py(v) + 4).toFixed(1)}" text-anchor="end">${digits(v)}</text>`).join("") +
      [0, 0.25, 0.5, 0.75, 1].map((x) => `<text x="${px(x).toFixed(1)}" y="${floor + BAND + 16}" text-anchor="middle">${x}</text>`).join("");
    const told = regions.map(({ from, to, a }) => `${P.base.A[a]} from ${digits(from)} to ${digits(to)}`).join(", ");
    return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${W.escape(`value over beliefs; best action: ${told}`)}">${parts.join("")}${ticks}` +
      `<rect class="frame" x="${LEFT}" y="${TOP}" width="${WIDTH - LEFT - RIGHT}" height="${floor - TOP}"/>` +
      `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">probability of ${W.escape(stateText(P, behind[o][1]))}, else ${W.escape(stateText(P, behind[o][0]))}</text></svg>`;
  }

  function table(o) {
    const { P } = values;
    const rows = values.regions(o).map(({ from, to, a }) => `<tr><th scope="row">${W.escape(P.base.A[a])}</th><td>${digits(from)} to ${digits(to)}</td></tr>`);
    return `<table><caption>Best action</caption><thead><tr><th scope="col">action</th><th scope="col">where the belief is</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
  }

  function show() {
    const clear = (text) => { $("belief-picture").innerHTML = $("belief-regions").innerHTML = ""; $("belief-said").textContent = text; };
    if (made.error) { clear(`No picture: ${made.error}.`); return; }
    const o = Number($("belief-row").value), [low, high] = values.bounds, isClosed = high - low <= CLOSED * Math.max(1, Math.abs(high));
    $("belief-picture").innerHTML = picture(o);
    $("belief-regions").innerHTML = table(o);
    const worth = isClosed ? digits(low) : `${digits(low)} to ${digits(high)}`;
    $("belief-said").textContent = `The best policy of the whole history is worth ${worth}. The line: what a policy reaches at each belief. The shade above it: ` +
      `what none exceeds${later !== null ? " (closing)" : ""}. Colours: the action that is best by the line. The dot: the belief at the start.`;
  }

  /** Rounds of backups, a piece at a time, until the bounds meet or the patience ends. */
  function goOn() {
    const began = performance.now();
    while (performance.now() - began < PIECE) values.round();
    spent += performance.now() - began;
    const goes = values.widest > CLOSED * Math.max(1, Math.abs(values.bounds[1])) && values.rounds < MOST_ROUNDS && spent < PATIENCE && $("belief-card").open;
    later = goes ? setTimeout(goOn, 4 * PIECE) : null;
    show();
  }

  function draw() {
    if (!$("belief-card").open) return;
    const before = made && made.model;
    begin();
    if (values && !made.error && (made.model !== before || values.rounds === 0) && later === null) goOn();
    else show();
  }

  $("belief-card").addEventListener("toggle", draw);
  $("belief-row").addEventListener("change", () => { if (made && !made.error) show(); });
  W.beliefCard = { draw };
})(Workbench);
