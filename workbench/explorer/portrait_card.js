/* The phase portrait of learning: regions of greedy policies, where each of them leads, the mean field, the fixed points, the run. */
"use strict";
(function (W) {
  const page = W.page, $ = (id) => document.getElementById(id), { state } = page;
  const SIZE = 440, LEFT = 62, RIGHT = 12, TOP = 12, LOW = 50, GRID = 73, ARROWS = 13;
  const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]; // told apart also by their numbers
  const MOST_ALONE = 4096; // beyond, fixed points are looked for when the button is pressed

  let kept = {}, shown = null, range = null, drawnAt = 0, took = 0, later = null, last = null;

  const rowText = (P, o) => { const { m, o: seen } = W.rowLabels(P, o); return [m, seen].filter((x) => x !== null).join(", "); };
  const settings = () => ({ kind: state.extra.learner, epsilon: Number(state.extra.epsilon), lambda: Number(state.extra.lam) });
  const gamma = () => (state.extra.lgamma === "" ? page.P.gamma : Number(state.extra.lgamma));
  const key = () => [state.task, JSON.stringify(state.rewards), state.memory, gamma(), ...Object.values(settings())].join();

  /** The entries on the axes, from the link or the first ones: of two rows where there are two. */
  function axes() {
    const { P } = page, rows = W.decidingRows(P), [first, second] = [rows[0], rows.length > 1 ? rows[1] : rows[0]];
    const read = (text, otherwise) => {
      const found = /^(\d+)\.(\d+)$/.exec(text), o = found ? Number(found[1]) : -1;
      return rows.includes(o) && Number(found[2]) < P.nA ? [o, Number(found[2])] : otherwise;
    };
    const across = read(state.extra.px, [first, 0]), up = read(state.extra.py, [second, second === first ? Math.min(1, P.nA - 1) : 0]);
    return [across, up];
  }

  function drawControls() {
    const { P } = page, chosen = axes();
    if (drawControls.P !== P) {
      drawControls.P = P;
      const rows = W.decidingRows(P).slice(0, 40);
      const options = rows.flatMap((o) => Array.from({ length: P.nA }, (_, a) => `<option value="${o}.${a}">${W.escape(`${rowText(P, o)}: ${W.actionLabel(P, a)}`)}</option>`)).slice(0, 400).join("");
      $("portrait-x").innerHTML = $("portrait-y").innerHTML = options;
    }
    $("portrait-x").value = chosen[0].join(".");
    $("portrait-y").value = chosen[1].join(".");
    const fixed = kept.fixed ? kept.fixed.slice(0, 40) : [];
    const labels = [["", "as in the run now"], ["start", "as at the start"], ...fixed.map((_, k) => [String(k), `as at fixed point ${k + 1}`])];
    const html = labels.map(([value, text]) => `<option value="${value}">${text}</option>`).join("");
    if ($("portrait-base").dataset.html !== html) { $("portrait-base").innerHTML = html; $("portrait-base").dataset.html = html; }
    if (!labels.some(([value]) => value === state.extra.pbase)) state.extra.pbase = "";
    $("portrait-base").value = state.extra.pbase;
  }

  /** What does not change while a run goes on: the fields, and the fixed points where there are few enough policies to look at all. */
  function remember() {
    const P = W.withGamma(page.P, gamma()), chosen = axes(), now = `${key()} ${chosen.join()}`;
    if (kept.now === now) return;
    const same = kept.key === key();
    kept = { now, key: key(), P, entries: chosen, error: "", fixed: same ? kept.fixed : null };
    range = null;
    const { kind, epsilon, lambda } = settings();
    try {
      if (chosen[0].join() === chosen[1].join()) throw new RangeError("choose two different entries");
      kept.fields = new W.CellFields(P, settings(), chosen);
      if (!kept.fixed && P.nA ** W.decidingRows(P).length <= MOST_ALONE) kept.fixed = W.settling(P, kind, epsilon, lambda).fixed;
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof W.NeverEnds)) throw error;
      kept.error = error.message;
    }
  }

  /** The table that says what the other entries are. */
  function baseTable(latest) {
    const { P } = kept, pick = state.extra.pbase;
    if (pick === "" && latest && latest.steps > 0) return latest.table;
    if (pick !== "" && pick !== "start" && kept.fixed && kept.fixed[Number(pick)]) return kept.fixed[Number(pick)].q.map((x) => (Number.isNaN(x) ? 1 : x));
    return new Float64Array(P.nO * P.nA).fill(1); // the learners' initial value
  }

  /** Everything that the picture shows, as numbers. */
  function compute(latest) {
    const { P, fields, entries } = kept, { kind, epsilon, lambda } = settings(), places = entries.map(([o, a]) => o * P.nA + a), rows = W.decidingRows(P);
    const base = baseTable(latest), two = (q) => places.map((i) => q[i]);
    const path = latest && latest.watched.join() === places.join() ? latest.path : new Float64Array();
    const fixed = (kept.fixed || []).map(({ q, strict, value }) => ({ at: two(q), strict, value }));
    const points = [two(base), ...fixed.map(({ at }) => at)];
    for (let k = 0; k < path.length; k += 2) points.push([path[k], path[k + 1]]);
    const led = new Map(), leads = (g) => {
      const name = g.join();
      if (!led.has(name)) { const q = W.learnedTable(P, g, kind, epsilon, lambda); led.set(name, { at: two(q), fits: W.isGreedyOn(P, rows, g, q) }); }
      return led.get(name);
    };
    const spread = (low, high, n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));
    let plane, x, y; // which policies are around is known when the range is, and where they lead widens it once more
    for (let round = 0; round < 3; round++) {
      const bounds = [0, 1].map((k) => widened(points.map((p) => p[k]), range && range[k], round));
      [x, y] = bounds.map(([low, high]) => spread(low, high, GRID));
      plane = W.tablePlane(fields, base, x, y);
      const ends = plane.policies.map((g) => leads(g).at), inside = ends.every((p) => p.every((z, k) => !Number.isFinite(z) || (z >= bounds[k][0] && z <= bounds[k][1])));
      points.push(...ends);
      range = bounds;
      if (inside && (plane.policies.length > 1 || round === 2)) break;
    }
    return { ...plane, x, y, entries, base, path, fixed, ends: plane.policies.map(leads) };
  }

  /** A range with a margin around numbers, never less than before, larger in each round until two regions are in it. */
  function widened(numbers, before, round) {
    const finite = numbers.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
    if (before && low >= before[0] && high <= before[1] && round === 0) return before;
    const margin = (high - low || 1) * (0.08 + 0.3 * round);
    return [Math.min(low - margin, before ? before[0] : Infinity), Math.max(high + margin, before ? before[1] : -Infinity)];
  }

  const digits = (x) => String(Number(x.toPrecision(3))).replace("-", "−");

  function picture(found) {
    const { x, y, region, flow, path, fixed, ends } = found, [x0, x1] = [x[0], x[GRID - 1]], [y0, y1] = [y[0], y[GRID - 1]];
    const px = (v) => LEFT + ((v - x0) / (x1 - x0)) * (SIZE - LEFT - RIGHT), py = (v) => SIZE - LOW - ((v - y0) / (y1 - y0)) * (SIZE - LOW - TOP);
    const dx = (px(x[1]) - px(x[0])) / 2, dy = (py(y[0]) - py(y[1])) / 2, sums = ends.map(() => [0, 0, 0]), areas = ends.map(() => "");
    region.forEach((row, j) => {
      for (let i = 0; i < GRID;) { // cells of one region side by side are one rectangle
        let to = i;
        while (to < GRID && row[to] === row[i]) { const sum = sums[row[i]]; sum[0] += px(x[to]); sum[1] += py(y[j]); sum[2] += 1; to += 1; }
        const left = Math.max(LEFT, px(x[i]) - dx), right = Math.min(SIZE - RIGHT, px(x[to - 1]) + dx), up = Math.max(TOP, py(y[j]) - dy), down = Math.min(SIZE - LOW, py(y[j]) + dy);
        areas[row[i]] += `M${left.toFixed(1)} ${up.toFixed(1)}H${right.toFixed(1)}V${(down + 0.3).toFixed(1)}H${left.toFixed(1)}Z`;
        i = to;
      }
    });
    const parts = areas.map((d, k) => `<path class="area" d="${d}" fill="${HUES[k % 4]}" fill-opacity="0.22"/>`);
    const ticks = W.niceTicks(x0, x1).map((v) => `<text x="${px(v).toFixed(1)}" y="${SIZE - LOW + 17}" text-anchor="middle">${digits(v)}</text>`).join("") +
      W.niceTicks(y0, y1).map((v) => `<text x="${LEFT - 6}" y="${(py(v) + 4).toFixed(1)}" text-anchor="end">${digits(v)}</text>`).join("");
    const every = (GRID - 1) / (ARROWS - 1), cell = ((SIZE - LEFT - RIGHT) / (ARROWS - 1)) * 0.9, arrows = [];
    let fastest = 0;
    const onScreen = ([u, v]) => [(u / (x1 - x0)) * (SIZE - LEFT - RIGHT), (-v / (y1 - y0)) * (SIZE - LOW - TOP)];
    for (let j = 0; j < ARROWS; j++) {
      for (let i = 0; i < ARROWS; i++) {
        const a = Math.round(i * every), b = Math.round(j * every), [u, v] = onScreen(flow[b][a]), long = Math.hypot(u, v);
        if (!(long > 0)) continue;
        fastest = Math.max(fastest, long);
        arrows.push([px(x[a]), py(y[b]), u, v, long]);
      }
    }
    for (const [cx, cy, u, v, long] of arrows) {
      const size = cell * Math.max(0.25, (long / fastest) ** 0.4) * 0.5, ux = (u / long) * size, uy = (v / long) * size;
      parts.push(`<line class="flow" x1="${(cx - ux).toFixed(1)}" y1="${(cy - uy).toFixed(1)}" x2="${(cx + ux).toFixed(1)}" y2="${(cy + uy).toFixed(1)}" marker-end="url(#portrait-head)"/>`);
    }
    const points = [];
    for (let k = 0; k < path.length; k += 2) points.push(`${px(path[k]).toFixed(1)},${py(path[k + 1]).toFixed(1)}`);
    if (points.length > 1) parts.push(`<polyline class="halo" points="${points.join(" ")}"/><polyline class="path" points="${points.join(" ")}"/>`);
    sums.forEach(([sx, sy, n], k) => parts.push(`<text class="region" x="${(sx / n).toFixed(1)}" y="${Math.max(sy / n + 5, TOP + 24).toFixed(1)}" text-anchor="middle">${k + 1}</text>`));
    ends.forEach(({ at }, k) => {
      if (!at.every(Number.isFinite)) return;
      parts.push(`<circle class="end" cx="${px(at[0]).toFixed(1)}" cy="${py(at[1]).toFixed(1)}" r="8"/><text class="small" x="${px(at[0]).toFixed(1)}" y="${(py(at[1]) + 4).toFixed(1)}" text-anchor="middle">${k + 1}</text>`);
    });
    fixed.forEach(({ at, strict }) => {
      if (at.every(Number.isFinite)) parts.push(`<rect class="fixed${strict ? "" : " tied"}" x="${(px(at[0]) - 5).toFixed(1)}" y="${(py(at[1]) - 5).toFixed(1)}" width="10" height="10" transform="rotate(45 ${px(at[0]).toFixed(1)} ${py(at[1]).toFixed(1)})"/>`);
    });
    if (points.length) { const [cx, cy] = points[points.length - 1].split(","); parts.push(`<circle class="agent" cx="${cx}" cy="${cy}" r="5"/>`); }
    const [across, up] = ["portrait-x", "portrait-y"].map((id) => ($(id).selectedOptions[0] ? W.escape($(id).selectedOptions[0].textContent) : ""));
    const told = `${ends.length === 1 ? "one greedy policy" : `${ends.length} regions of greedy policies`}, arrows of the mean field, ${fixed.length} fixed points${points.length ? `, the run now at ${[path[path.length - 2], path[path.length - 1]].map(digits).join(", ")}` : ""}`;
    return `<svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="phase portrait: ${told}">` +
      '<defs><marker id="portrait-head" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L6 3L0 6z" class="tip"/></marker>' +
      `<clipPath id="portrait-frame"><rect x="${LEFT}" y="${TOP}" width="${SIZE - LEFT - RIGHT}" height="${SIZE - LOW - TOP}"/></clipPath></defs>` +
      `<g clip-path="url(#portrait-frame)">${parts.join("")}</g><rect class="frame" x="${LEFT}" y="${TOP}" width="${SIZE - LEFT - RIGHT}" height="${SIZE - LOW - TOP}"/>${ticks}` +
      `<text x="${(LEFT + SIZE - RIGHT) / 2}" y="${SIZE - 8}" text-anchor="middle">q(${across})</text>` +
      `<text transform="translate(14 ${(SIZE - LOW) / 2}) rotate(-90)" text-anchor="middle">q(${up})</text></svg>`;
  }

  /** The regions in words: what is greedy there, where that leads, and whether it stays. */
  function regionTable(found) {
    const { P, entries } = kept, rows = [...new Set(entries.map(([o]) => o))];
    const body = found.policies.map((g, k) => {
      const { at, fits } = found.ends[k], does = rows.map((o) => `${rowText(P, o)}: ${W.actionLabel(P, g[o])}`).join("; ");
      const stays = fits === null ? "no fixed point" : fits ? "a fixed point" : "a fixed point with ties";
      return `<tr><th scope="row">${k + 1}</th><td>${W.escape(does)}</td><td>${at.map(digits).join(", ")}</td><td>${stays}</td></tr>`;
    });
    return `<table><caption>Regions</caption><thead><tr><th scope="col">region</th><th scope="col">greedy there</th><th scope="col">leads to</th><th scope="col">there is</th></tr></thead><tbody>${body.join("")}</tbody></table>`;
  }

  function words(found) {
    const whole = kept.P.nO * kept.P.nA === 2 || W.decidingRows(kept.P).length * kept.P.nA === 2;
    const fixed = !kept.fixed ? "Fixed points are those of “Where can it settle?” above; there are too many greedy policies to look at all of them here."
      : kept.fixed.length === 0 ? "There is no fixed point: whichever policy the learner follows, the values it learns make another action look better." : `${kept.fixed.length === 1 ? "The diamond: the one fixed point" : `Diamonds: the ${kept.fixed.length} fixed points`} of learning${whole ? "" : ", seen from this plane"}, ${kept.fixed.every(({ strict }) => strict) ? "strict" : "hollow where tied"}.`;
    return `Colours and numbers: which policy is greedy. Arrows: where the table goes on average, with small step sizes. A ring with a number: where that region's arrows lead. ${fixed} ` +
      `${found.path.length ? "The line is the run." : "Press Learn, and the run is drawn on top."}${whole ? "" : " All other entries of the table stay as chosen above."}`;
  }

  function clear(text) {
    shown = null;
    $("portrait").innerHTML = $("portrait-regions").innerHTML = "";
    $("portrait-said").textContent = text;
  }

  function drawNow() {
    later = null;
    const began = performance.now();
    remember();
    drawControls();
    if (kept.error) { clear(`No portrait: ${kept.error}.`); return; }
    try {
      shown = compute(last);
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof W.NeverEnds)) throw error;
      clear(`No portrait: ${error.message}.`);
      return;
    }
    $("portrait").innerHTML = picture(shown);
    $("portrait-regions").innerHTML = regionTable(shown);
    $("portrait-said").textContent = words(shown);
    drawnAt = performance.now();
    took = drawnAt - began;
  }

  /** Draw what the run is doing now; while it goes on, no more often than leaves time for everything else. */
  function draw(latest) {
    last = latest;
    const card = $("portrait-card");
    if (card.open !== (state.extra.portrait === "1")) { // a link asks for it, so it is brought into view
      card.open = state.extra.portrait === "1";
      if (card.open) requestAnimationFrame(() => card.scrollIntoView({ block: "start" }));
    }
    if (!card.open) return;
    const wait = latest && latest.going ? drawnAt + 4 * took - performance.now() : 0;
    if (wait > 0) { if (later === null) later = setTimeout(drawNow, wait); return; }
    clearTimeout(later);
    drawNow();
  }

  /** What the button above found is used here too. */
  function takeFixed(fixed) {
    remember();
    kept.fixed = fixed;
    if ($("portrait-card").open) drawNow();
  }

  /** The plane on show in the shape of PhasePlane.to_json, labels as the page writes them; null while there is none. */
  function exportedPortrait() {
    if (!shown) return null;
    const { P } = kept, rows = W.decidingRows(P), pair = (o, a) => [rowText(P, o), W.actionLabel(P, a)];
    return {
      model: P.name, learner: state.extra.learner, axes: shown.entries.map(([o, a]) => pair(o, a)), x: shown.x, y: shown.y,
      policies: shown.policies.map((g) => rows.map((o) => pair(o, g[o]))), region: shown.region, flow: shown.flow,
      base: Array.from(shown.base), ends: shown.ends.map(({ at, fits }) => ({ at, kind: fits === null ? "leaves" : fits ? "strict" : "tied" })),
      fixed: shown.fixed.map(({ at, strict, value }) => ({ at, kind: strict ? "strict" : "tied", value: Number.isFinite(value) ? value : null })), path: Array.from(shown.path),
    };
  }

  W.portraitCard = { draw, takeFixed, exported: exportedPortrait, watched: () => axes().map(([o, a]) => o * page.P.nA + a) };
})(Workbench);
