/* The laboratory's cards: fractions, learners in a worker, a slice of the policies, TD against Monte Carlo, where learning settles, beliefs,
 * two memories side by side, files in and out. */
"use strict";
(function (W) {
  const page = W.page, $ = (id) => document.getElementById(id), { state } = page;
  page.keepInAddress({ exact: "", with: "", learner: "qlearning", epsilon: "0.1", alpha: "0.1", lam: "0.5", lgamma: "", lseed: "0", steps: "1000000", portrait: "", px: "", py: "", pbase: "" });

  // ------------------------------------------------------------------ fractions

  /** The policy on show in fractions, or null: uniform and certain rows, and iterates of the loop from them. */
  function exactPolicy() {
    const { P, loop } = page;
    const rows = Array.from(loop.start, (x) => (x === 0 || x === 1 ? W.Fraction.of(BigInt(x)) : Math.abs(x * P.nA - 1) < 1e-12 ? W.Fraction.of(1n, BigInt(P.nA)) : null));
    const step = W.parseFraction(String(state.step));
    if (rows.includes(null) || loop.mixed || loop.n > 60 || !step || (loop.n > 0 && loop.size !== state.step)) return null;
    return W.exactIterate(P, rows, loop.taken.slice(0, loop.n), step);
  }

  function whyNoFractions() {
    const { P, loop } = page;
    if (!loop.now) return "this policy has no values";
    const why = W.whyNotExact(P);
    if (why) return why;
    if (loop.n > 60) return `after ${loop.n} iterates the fractions are too long`;
    return exactPolicy() ? "" : "this policy is not known in fractions";
  }

  function drawFractions() {
    const on = state.extra.exact === "1";
    $("exact").checked = on;
    $("fractions").hidden = !on;
    if (!on) return;
    const why = whyNoFractions();
    $("fractions-why").textContent = why ? `No fractions: ${why}.` : "";
    if (why) { $("exact-q").innerHTML = $("exact-td").innerHTML = ""; $("exact-value").textContent = "–"; return; }
    const { P, loop } = page, pi = exactPolicy(), found = W.evaluateExactly(P, pi, loop.now, state.weights);
    const lambda = W.parseFraction(String(state.lambda)), q = found.q;
    let td = q;
    if (state.lambda !== 1) {
      const near = page.bootstrapped;
      td = near && near.lacks ? W.tdExactly(P, pi, lambda, found, near) : null;
    }
    $("exact-value").textContent = W.fractionText(found.value);
    const rows = W.decidingRows(P).slice(0, 30), show = (table, caption) => W.table(P, {
      rows, reached: loop.now.reached, here: -1, caption, heat: () => NaN, mark: () => "",
      cell: (o, a) => (table[o * P.nA + a] === null ? "–" : W.escape(W.fractionText(table[o * P.nA + a]))),
    });
    $("exact-q").innerHTML = show(q, "True values q, exactly");
    $("exact-td").innerHTML = td ? show(td, `TD(${W.shown(state.lambda)}) values, exactly`) : "";
  }

  // ------------------------------------------------------------------ two memories

  function drawOther() {
    const names = Object.keys(page.shownTask().memories);
    if (!names.includes(state.extra.with)) state.extra.with = "";
    $("with").innerHTML = `<option value="">nothing</option>${names.map((name) => `<option value="${name}">${name}</option>`).join("")}`;
    $("with").value = state.extra.with;
    const name = state.extra.with, key = [state.task, JSON.stringify(state.rewards), state.step, state.weights, state.memory, name].join();
    $("beside").hidden = !name;
    if (drawOther.key === key) return;
    drawOther.key = key;
    (drawOther.runs || []).forEach(({ job }) => job.forget());
    if (!name) return;
    const base = page.baseModel();
    drawOther.runs = [state.memory, name].map((memory) => {
      const E = W.augment(base, memory), loop = new W.Loop(E, state.weights);
      return { memory, P: E, values: loop.values, n: 0, ended: null, done: false, levels: page.bestLevels(page.bestOf(E, memory)), loop };
    });
    for (const run of drawOther.runs) {
      run.job = W.background.follow(run.loop, page.modelForWorker(), run.memory, state.step, MOST_BESIDE, ({ n, values, ended, loop }) => {
        Object.assign(run, { n, values, ended, done: loop !== null });
        drawBeside();
      });
    }
    drawBeside();
  }

  const MOST_BESIDE = 1500;

  /** Both charts, on one scale. */
  function drawBeside() {
    const { runs } = drawOther, levels = runs.flatMap((run) => run.levels), scale = [...runs.flatMap((run) => run.values), ...levels.map(({ value }) => value)];
    $("beside").innerHTML = runs.map(({ memory, P, values, n, ended, done, levels: own }) => {
      const last = W.shown(values[values.length - 1]);
      const words = ended ? (ended.how === "fixed" ? `ends at ${W.shown(ended.value)}` : `ends in a limit cycle around ${W.shown(ended.value)}`) : `is at ${last} after ${n} iterates${done ? "" : " and goes on"}`;
      return `<figure><figcaption><b>${memory}</b>: ${P.nS} states, ${P.nO} rows, ${P.nA} actions. The loop from uniform ${words}.</figcaption>${W.chart(values, own, page.data.styles[memory], null, scale)}</figure>`;
    }).join("");
  }

  // ------------------------------------------------------------------ learners

  let worker = null, curve = [], latest = null, wanted = 0;

  /** The discount of the learner: its own, or the task's. */
  const learnerGamma = () => (state.extra.lgamma === "" ? page.P.gamma : Number(state.extra.lgamma));

  function learnerSettings() {
    const x = state.extra, epsilon = Number(x.epsilon), step = Number(x.alpha), lambda = Number(x.lam);
    const common = { gamma: learnerGamma() };
    return x.learner === "actor-critic" ? { ...common, policyStep: step } : { ...common, epsilon, step, lambda };
  }

  function makeWorker() {
    if (worker) worker.terminate();
    const source = $("calculating").textContent;
    worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    curve = [];
    latest = null;
    worker.onmessage = ({ data }) => {
      latest = data;
      curve.push([data.steps, data.value]);
      if (curve.length > 800) curve = curve.filter((_, i) => i % 2 === 0);
      drawLearner();
    };
    worker.onerror = (event) => { $("learner-said").textContent = `The learner stopped: ${event.message}`; };
    worker.postMessage({ watch: W.portraitCard.watched(), make: { model: page.modelForWorker(), memory: state.memory, name: state.extra.learner, settings: learnerSettings(), seed: Number(state.extra.lseed) } });
  }

  function drawLearner() {
    for (const [id, name] of Object.entries({ learner: "learner", epsilon: "epsilon", alpha: "alpha", lam: "lam", "learner-gamma": "lgamma", "learner-seed": "lseed", "learner-steps": "steps" })) {
      if (document.activeElement !== $(id)) $(id).value = state.extra[name];
    }
    $("learner-gamma").placeholder = W.shown(page.P.gamma);
    W.portraitCard.draw(latest);
    const kind = state.extra.learner;
    const why = !latest || latest.steps === 0 ? "nothing has been learned yet" : latest.going ? "the learner is running; pause it" : "";
    page.drawGreyed("learner-why", {
      "take-greedy": why, epsilon: kind === "actor-critic" ? "actor-critic explores by its own policy" : "", lam: kind === "sarsa" ? "" : "only Sarsa has a λ",
    });
    $("learn").textContent = latest && latest.going ? "Pause" : "Learn";
    $("learn").setAttribute("aria-pressed", Boolean(latest && latest.going));
    if (!latest) { $("learner-said").textContent = "Nothing learned yet."; $("learner-chart").innerHTML = ""; return; }
    const speed = latest.speed ? `, ${(latest.speed / 1e6).toFixed(1)} million a second` : "";
    $("learner-said").textContent = `${latest.steps.toLocaleString("en")} time steps${speed}, ${latest.episodes.toLocaleString("en")} episodes, ` +
      `${latest.steps ? W.shown((100 * latest.rewards) / latest.steps) : "–"} reward per 100 time steps. The greedy policy is worth ${W.shown(latest.value, 6)}.`;
    const levels = page.best && Number.isFinite(page.best.value) ? [{ value: page.best.value, text: `best deterministic ${W.shown(page.best.value)}` }] : [];
    $("learner-chart").innerHTML = W.chart(curve.map(([, value]) => value), levels, page.data.styles[state.memory], curve.map(([steps]) => steps));
  }

  const learnerKey = () => [state.task, JSON.stringify(state.rewards), state.memory, ...["learner", "epsilon", "alpha", "lam", "lgamma", "lseed"].map((name) => state.extra[name])].join();

  function learn() {
    if (latest && latest.going) { worker.postMessage({ pause: true }); return; }
    if (!worker || learn.key !== learnerKey()) { makeWorker(); learn.key = learnerKey(); wanted = 0; }
    wanted += Number(state.extra.steps);
    worker.postMessage({ until: wanted });
  }

  function resetLearner() {
    if (worker) worker.terminate();
    worker = latest = null;
    curve = [];
    drawLearner();
  }

  function takeGreedy() {
    const { P } = page, pi = new Float64Array(P.nO * P.nA);
    latest.greedy.forEach((a, o) => { pi[o * P.nA + a] = 1; });
    page.restart(pi);
  }

  // ------------------------------------------------------------------ a slice of the policies

  let axes = null;

  function drawSliceControls() {
    const { P } = page;
    if (drawSliceControls.P === P) return;
    drawSliceControls.P = P;
    const rows = W.decidingRows(P).slice(0, 40), label = (o) => { const { m, o: seen } = W.rowLabels(P, o); return [m, seen].filter((x) => x !== null).join(", "); };
    const options = rows.flatMap((o) => Array.from({ length: P.nA }, (_, a) => `<option value="${o},${a}">${W.escape(`${label(o)}: ${W.actionLabel(P, a)}`)}</option>`)).slice(0, 400).join("");
    const greedy = page.loop.now ? page.loop.greedy : null, first = rows[0], second = rows[1] === undefined ? rows[0] : rows[1];
    const pick = (o, otherwise) => (greedy && greedy[o] >= 0 ? greedy[o] : otherwise);
    axes = [`${first},${pick(first, 0)}`, `${second},${second === first ? (pick(first, 0) + 1) % P.nA : pick(second, 0)}`];
    $("slice-x").innerHTML = $("slice-y").innerHTML = options;
    $("slice-x").value = axes[0];
    $("slice-y").value = axes[1];
    $("slice").innerHTML = "";
    $("slice-said").textContent = "";
  }

  function drawSlice() {
    const { P, loop } = page, [first, second] = [$("slice-x").value, $("slice-y").value].map((text) => text.split(",").map(Number));
    if (first.join() === second.join()) { $("slice-said").textContent = "Choose two different probabilities."; return; }
    const flow = W.sliceFlow(P, loop.pi, first, second, Array.from({ length: 13 }, (_, i) => i / 12), state.weights), size = 420, left = 46, low = 40;
    const px = (x) => left + x * (size - left - 16), py = (y) => size - low - y * (size - low - 16);
    const values = flow.map(({ value }) => value).filter(Number.isFinite), least = Math.min(...values), most = Math.max(...values);
    const cell = (size - left - 16) / 12;
    const parts = flow.map(({ x, y, dx, dy, value }) => {
      if (!Number.isFinite(value)) return "";
      const heat = most - least < 1e-12 ? 0.5 : (value - least) / (most - least), long = Math.hypot(dx, dy) || 1;
      const box = `<rect x="${px(x) - cell / 2}" y="${py(y) - cell / 2}" width="${cell}" height="${cell}" fill="var(--memory)" opacity="${(0.5 * heat).toFixed(3)}"/>`;
      if (!Number.isFinite(dx) || !Number.isFinite(dy) || (dx === 0 && dy === 0)) return `${box}<circle cx="${px(x)}" cy="${py(y)}" r="3" class="still"/>`;
      const ex = px(x) + (0.42 * cell * dx) / long, ey = py(y) - (0.42 * cell * dy) / long;
      return `${box}<line class="flow" x1="${px(x)}" y1="${py(y)}" x2="${ex.toFixed(1)}" y2="${ey.toFixed(1)}" marker-end="url(#head)"/>`;
    });
    const here = [first, second].map(([o, a]) => loop.pi[o * P.nA + a]);
    const labels = [$("slice-x"), $("slice-y")].map((select) => W.escape(select.selectedOptions[0].textContent));
    $("slice").innerHTML = `<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="where the loop sets out, from each policy of the slice; now at ${here.map((x) => x.toFixed(3)).join(", ")}">` +
      '<defs><marker id="head" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L6 3L0 6z" class="tip"/></marker></defs>' +
      `${parts.join("")}<circle class="agent" cx="${px(here[0])}" cy="${py(here[1])}" r="6"/>` +
      `<text x="${(left + size - 16) / 2}" y="${size - 6}" text-anchor="middle">π(${labels[0]})</text>` +
      `<text transform="translate(12 ${(size - low) / 2}) rotate(-90)" text-anchor="middle">π(${labels[1]})</text>` +
      `<text x="${left}" y="${size - 22}" text-anchor="middle">0</text><text x="${size - 16}" y="${size - 22}" text-anchor="middle">1</text></svg>`;
    $("slice-said").textContent = `Arrows: which way an update towards greedy goes. Dots: it stays. Shade: the value, from ${W.shown(least)} to ${W.shown(most)}. The ring is the policy on show, which fixes everything else.`;
  }

  // ------------------------------------------------------------------ TD against Monte Carlo

  const hueOf = (P, a) => `hsl(${Math.round((360 * a) / P.nA + 20)} 65% 48%)`;

  /** What is written at the right end of the lines, once for all lines that are the same. */
  function endLabels(P, lines) {
    const last = lines[lines.length - 1], groups = new Map();
    for (let a = 0; a < P.nA; a++) {
      if (!lines.every((row) => Number.isFinite(row[a]))) continue;
      const key = lines.map((row) => row[a].toPrecision(9)).join();
      groups.set(key, [...(groups.get(key) || []), a]);
    }
    return [...groups.values()].map((actions) => {
      const names = actions.map((a) => W.actionLabel(P, a)), shown = names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join("; ");
      return { value: last[actions[0]], hue: hueOf(P, actions[actions.length - 1]), text: `${shown}: ${W.shown(last[actions[0]])}`, names: names.join("; ") };
    });
  }

  /** The labels beside the ends of their lines, none over another. */
  function placedLabels(labels, right, y, [top, bottom]) {
    const GAP = 15;
    labels.sort((one, other) => other.value - one.value);
    if (labels.length * GAP > bottom - top + GAP) return ""; // no room
    let free = top;
    for (const label of labels) { label.place = Math.max(y(label.value), free); free = label.place + GAP; }
    let limit = bottom;
    for (const label of labels.slice().reverse()) { label.place = Math.min(label.place, limit); limit = label.place - GAP; }
    return labels.map(({ value, hue, text, names, place }) =>
      `<line stroke="${hue}" stroke-opacity="0.6" x1="${right}" x2="${right + 14}" y1="${y(value)}" y2="${place}"/>` +
      `<text x="${right + 17}" y="${place + 4}" font-size="11">${W.escape(text)}<title>${W.escape(names)}</title></text>`).join("");
  }

  function drawLambda() {
    const { P, loop } = page, rows = W.decidingRows(P).slice(0, 40);
    if (drawLambda.P !== P) {
      drawLambda.P = P;
      $("lambda-row").innerHTML = rows.map((o) => { const { m, o: seen } = W.rowLabels(P, o); return `<option value="${o}">${W.escape([m, seen].filter((x) => x !== null).join(", "))}</option>`; }).join("");
    }
    if (!loop.now || !$("lambda-card").open) { $("lambda-chart").innerHTML = ""; return; }
    const o = Number($("lambda-row").value), height = 280, left = 56, top = 14, bottom = 40, lines = [];
    try {
      for (let i = 0; i <= 20; i++) lines.push(Array.from(W.td(P, loop.pi, i / 20, loop.now).q.subarray(o * P.nA, (o + 1) * P.nA)));
    } catch (error) {
      if (!(error instanceof W.NeverEnds)) throw error;
      $("lambda-chart").textContent = error.message;
      return;
    }
    const finite = lines.flat().filter(Number.isFinite);
    let low = Math.min(...finite), high = Math.max(...finite);
    if (high - low < 1e-9) { low -= 0.5; high += 0.5; }
    const labels = endLabels(P, lines), right = 40 + 6.4 * Math.max(...labels.map(({ text }) => text.length)), width = 450 + right;
    const x = (l) => left + l * (width - left - right), y = (v) => top + ((height - top - bottom) * (high - v)) / (high - low);
    const drawn = lines[0].map((_, a) => {
      if (!lines.every((row) => Number.isFinite(row[a]))) return "";
      const points = lines.map((row, i) => `${x(i / 20).toFixed(1)},${y(row[a]).toFixed(1)}`).join(" ");
      return `<polyline points="${points}" fill="none" stroke="${hueOf(P, a)}" stroke-width="2" stroke-dasharray="${["", "6 3", "2 3", "8 3 2 3"][a % 4]}"/>`;
    }).join("") + placedLabels(labels, x(1), y, [top, height - bottom]);
    $("lambda-chart").innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="TD(λ) values of one row, from λ = 0 to Monte Carlo">` +
      `<line class="grid" x1="${x(state.lambda)}" x2="${x(state.lambda)}" y1="${top}" y2="${height - bottom}"/>${drawn}` +
      `<text x="${x(0)}" y="${height - 18}" text-anchor="middle">λ = 0</text><text x="${x(1)}" y="${height - 18}" text-anchor="middle">1: Monte Carlo</text>` +
      `<text x="${left - 6}" y="${y(high) + 10}" text-anchor="end">${W.shown(high, 3)}</text><text x="${left - 6}" y="${y(low)}" text-anchor="end">${W.shown(low, 3)}</text></svg>`;
  }

  // ------------------------------------------------------------------ where learning settles

  function settle() {
    const { P } = page, kind = state.extra.learner === "sarsa" ? "sarsa" : "qlearning";
    const name = kind === "sarsa" ? `Sarsa(${W.escape(state.extra.lam)})` : "Q-learning";
    try {
      const { fixed, policies } = W.settling(W.withGamma(P, learnerGamma()), kind, Number(state.extra.epsilon), Number(state.extra.lam));
      W.portraitCard.takeFixed(fixed);
      const rows = fixed.slice(0, 200).map(({ actions, value, strict }) => {
        const does = W.decidingRows(P).map((o) => { const { m, o: seen } = W.rowLabels(P, o); return `${[m, seen].filter((x) => x !== null).join(", ")}: ${W.actionLabel(P, actions[o])}`; }).join("; ");
        return `<tr><td>${W.shown(value)}</td><td>${strict ? "strict" : "tied"}</td><td>${W.escape(does)}</td></tr>`;
      });
      $("settled").innerHTML = `<table><caption>${name}, ε ${W.escape(state.extra.epsilon)}: ${policies.toLocaleString("en")} greedy policies looked at; ${fixed.length === 1 ? "1 is a fixed point" : `${fixed.length} are fixed points`}: greedy on the values that following it leads to</caption>` +
        `<thead><tr><th scope="col">value</th><th scope="col">kind</th><th scope="col">policy</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof W.NeverEnds)) throw error;
      $("settled").textContent = `Not decided here: ${error.message}.`;
    }
  }

  // ------------------------------------------------------------------ beliefs

  function drawBelief() {
    const { P, episode } = page, t = state.t, { steps } = episode, { nW } = P.memory, last = Math.min(t, steps.length - 1);
    if (steps.length === 0 || (t === steps.length && episode.ended)) { $("belief").textContent = "Belief: the episode is over."; return; }
    const seen = steps.slice(0, last + 1).map((step) => P.o[step.s]), done = steps.slice(0, last).map((step) => Math.floor(step.a / nW));
    const b = W.beliefsAlong(P.base, seen, done)[last];
    const shown = Array.from(b, (x, s) => [x, P.base.S[s]]).filter(([x]) => x > 1e-12).sort((x, y) => y[0] - x[0]);
    $("belief").textContent = `Belief at time step ${last}: ${shown.slice(0, 8).map(([x, s]) => `${s} ${W.shown(x)}`).join(", ")}${shown.length > 8 ? `, and ${shown.length - 8} more states` : ""}.`;
  }

  // ------------------------------------------------------------------ files in and out

  async function readFile(file) {
    $("file-error").textContent = "";
    try {
      const model = W.readTask(await file.text(), file.name);
      page.takeFile(model);
      page.set({ task: "file" });
    } catch (error) {
      if (!(error instanceof W.FileError)) throw error;
      $("file-error").textContent = `${file.name}: ${error.message}.`;
    }
  }

  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** The chart of the loop as an SVG file that needs no page around it. */
  function chartSvg() {
    const svg = $("chart").querySelector("svg").cloneNode(true), css = getComputedStyle(document.documentElement), color = (name) => css.getPropertyValue(name).trim();
    svg.setAttribute("width", 960);
    svg.setAttribute("height", 375);
    const style = document.createElement("style");
    style.textContent = `text{font:13px sans-serif;fill:${color("--ink")}} .grid{stroke:${color("--line")};stroke-width:.7} line.level{stroke:${color("--ink")};stroke-dasharray:9 4 2 4}`;
    const back = document.createElementNS(svg.namespaceURI, "rect");
    for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: color("--card") })) back.setAttribute(key, value);
    svg.prepend(style, back);
    return new XMLSerializer().serializeToString(svg);
  }

  async function chartPng() {
    const image = new Image(), url = URL.createObjectURL(new Blob([chartSvg()], { type: "image/svg+xml" }));
    await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = url; });
    const canvas = document.createElement("canvas");
    canvas.width = 1920;
    canvas.height = 750;
    canvas.getContext("2d").drawImage(image, 0, 0, 1920, 750);
    URL.revokeObjectURL(url);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  const number = (x) => (Number.isFinite(x) ? x : null);

  /** Everything on show as data; what is undefined is null. */
  function exported() {
    const { P, loop } = page, model = page.modelForWorker(), table = (q) => (q ? Array.from({ length: P.nO }, (_, o) => Array.from(q.subarray(o * P.nA, (o + 1) * P.nA), number)) : null);
    return {
      task: state.task, memory: state.memory, step: state.step, lambda: state.lambda, weights: state.weights, model,
      rows: Array.from({ length: P.nO }, (_, o) => [P.memory.label(P.rowM[o]), P.base.O[P.rowO[o]]]), actions: Array.from({ length: P.nA }, (_, a) => W.actionLabel(P, a)),
      policy: table(loop.pi), value: loop.now ? loop.now.value : null, q: table(loop.now && loop.now.q), td: table(page.bootstrapped && page.bootstrapped.q), values: loop.values.map(number), portrait: W.portraitCard.exported(),
    };
  }

  function exportedPython() {
    const { P, loop } = page, exact = whyNoFractions() ? null : exactPolicy();
    const entry = (i) => (exact ? `${exact[i].n}/${exact[i].d}` : String(loop.pi[i]));
    const pi = Array.from({ length: P.nO }, (_, o) => Array.from({ length: P.nA }, (_, a) => entry(o * P.nA + a)));
    return W.pythonCode({ model: page.shownTask().model, code: page.shownTask().code, rewards: state.rewards, memory: state.memory, pi, weights: state.weights, lambda: String(state.lambda), exact: Boolean(exact) });
  }

  Object.assign(W, { exported, exportedPython, chartSvg, chartPng });

  // ------------------------------------------------------------------ controls

  function draw() {
    drawFractions();
    drawOther();
    drawLearner();
    drawSliceControls();
    drawLambda();
    W.beliefCard.draw();
    drawBelief();
    if (draw.P !== page.P) { draw.P = page.P; $("settled").innerHTML = ""; }
    if (latest && learn.key !== learnerKey()) resetLearner();
  }

  function keep(name, value) {
    state.extra[name] = value;
    page.writeHash();
    draw();
  }

  const on = (id, event, action) => $(id).addEventListener(event, action);
  on("exact", "change", (e) => keep("exact", e.target.checked ? "1" : ""));
  on("with", "change", (e) => keep("with", e.target.value));
  on("learner", "change", (e) => keep("learner", e.target.value));
  const range = (id, name, low, high) => on(id, "change", (e) => {
    const x = Number(e.target.value);
    if (e.target.value !== "" && x >= low && x <= high) keep(name, e.target.value);
    else { e.target.value = state.extra[name]; }
  });
  range("epsilon", "epsilon", 0, 1);
  range("alpha", "alpha", 0, 1);
  range("lam", "lam", 0, 1);
  on("learner-gamma", "change", (e) => {
    const x = Number(e.target.value);
    if (e.target.validity.valid && x >= 0 && x <= 1) keep("lgamma", e.target.value);
    else e.target.value = state.extra.lgamma;
  });
  range("learner-seed", "lseed", 0, 2 ** 53);
  range("learner-steps", "steps", 1, 1e9);
  on("learn", "click", learn);
  on("learner-reset", "click", resetLearner);
  on("take-greedy", "click", takeGreedy);
  on("draw-slice", "click", drawSlice);
  on("lambda-row", "change", drawLambda);
  on("lambda-card", "toggle", drawLambda);
  on("settle", "click", settle);
  on("portrait-card", "toggle", (e) => { if (e.target.open !== (state.extra.portrait === "1")) keep("portrait", e.target.open ? "1" : ""); });
  for (const [id, name] of [["portrait-x", "px"], ["portrait-y", "py"]]) {
    on(id, "change", (e) => {
      keep(name, e.target.value);
      if (worker) worker.postMessage({ watch: W.portraitCard.watched() });
    });
  }
  on("portrait-base", "change", (e) => keep("pbase", e.target.value));
  on("file", "change", (e) => { if (e.target.files.length) readFile(e.target.files[0]); e.target.value = ""; });
  on("save-svg", "click", () => save("loop.svg", new Blob([chartSvg()], { type: "image/svg+xml" })));
  on("save-png", "click", async () => save("loop.png", await chartPng()));
  on("save-json", "click", () => save("explorer.json", new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" })));
  on("save-python", "click", () => save("explorer.py", new Blob([exportedPython()], { type: "text/x-python" })));
  on("copy-link", "click", async () => {
    page.writeHash();
    try { await navigator.clipboard.writeText(location.href); $("copied").textContent = "Copied."; } catch { $("copied").textContent = "The address of this page is the link."; }
  });

  page.whenDrawn(draw);
  page.start();
})(Workbench);
