/* The page: its state, its controls, and what is drawn after every change. The state that a link carries is in the hash. */
"use strict";
(function (W) {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const tasks = new Map(data.tasks.map((task) => [task.id, task]));
  const MANY_ROWS = 30; // beyond, the tables show the rows of one memory state
  const { MOST_ITERATES } = W;
  const MOST_SEARCHED = 100000; // rows times actions times states: beyond, the worker does not look for a good policy either
  const AT_ONCE = 150; // milliseconds that a run may take in the page itself, before a worker goes on with it
  const SPEEDS = { 1: 140, 5: 60, 25: 60 };

  const state = { task: tasks.has("recall4") ? "recall4" : data.tasks[0].id, memory: "B1", step: 0.02, lambda: 0, weights: "visits", rewards: null, seed: 1, t: 0, at: null, pi: null, n: 0, file: null, extra: {} };
  let P, loop, episode, best, oneStep, bootstrapped, marks, timer = null, rowsOf = 0;
  let running = null; // a run in the worker: its {stop, forget}, how far it is, and all values so far
  let forgetSearch = () => {}, searching = false; // a search for the best policy that is still on
  let plain; // whether the loop so far is the one from uniform with the step on show, so that a link can bring it back

  // ------------------------------------------------------------------ the address

  function writeHash() {
    const parts = new URLSearchParams({ task: state.task, m: state.memory, step: state.step });
    if (state.lambda !== 0) parts.set("lambda", state.lambda);
    if (state.weights !== task().weights) parts.set("weights", state.weights);
    if (state.seed !== 1) parts.set("seed", state.seed);
    if (state.at) parts.set("at", state.at);
    if (state.rewards) parts.set("r", state.rewards.map((row) => row.join(",")).join(";"));
    if (state.file) parts.set("file", W.packed(state.file));
    if (loop && loop.P === P && !state.at) {
      const whole = loop.mixed || (loop.n > 0 && loop.size !== state.step); // no single step leads here: the policy itself is kept
      const pi = W.policyText(P, whole ? loop.pi : loop.start);
      if (pi) parts.set("pi", pi);
      if (!whole && loop.n > 0) parts.set("n", loop.n);
    }
    for (const [name, value] of Object.entries(state.extra)) if (value !== defaults[name]) parts.set(name, value);
    history.replaceState(null, "", `#${parts}`);
  }

  const defaults = {}; // of what the laboratory's cards keep in the address
  let writing = null;
  /** Write the address soon: browsers count how often a page does. */
  function writeHashSoon() {
    clearTimeout(writing);
    writing = setTimeout(writeHash, 250);
  }

  function readHash() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const said = (name, otherwise) => W.settingFromLink(name, parts.get(name), otherwise), number = (name, otherwise) => Number(said(name, otherwise));
    if (parts.has("file")) {
      const model = W.unpacked(parts.get("file"));
      try { if (model) takeFile(model); } catch (error) { if (!(error instanceof W.FileError)) throw error; } // too large
    }
    if (tasks.has(parts.get("task"))) state.task = parts.get("task");
    const has = (name) => Object.hasOwn(task().memories, name);
    state.memory = has(parts.get("m")) ? parts.get("m") : has(state.memory) ? state.memory : "none";
    state.step = number("step", state.step);
    state.lambda = number("lambda", 0);
    state.weights = said("weights", task().weights);
    state.seed = Math.round(number("seed", 1));
    state.at = said("at", null);
    state.rewards = task().editable && parts.has("r") ? W.rewardsFromText(parts.get("r")) : null;
    state.pi = parts.get("pi");
    state.n = Math.round(number("n", 0));
    for (const name of Object.keys(state.extra)) state.extra[name] = said(name, defaults[name]);
    document.documentElement.classList.toggle("embedded", parts.get("embed") === "1");
  }

  /** A task from a file joins the list. */
  function takeFile(model) {
    const base = W.decode(model), memories = {};
    for (const name of data.memories) {
      const { nM } = W.memoryOn(base, name);
      if (base.oCol.length * nM > data.most_codes) continue;
      const { nS } = W.augment(base, name);
      if (nS <= data.most_states) memories[name] = nS;
    }
    if (!("none" in memories)) throw new W.FileError(`too large for the browser: ${base.oCol.length.toLocaleString("en")} states and observations, and the page takes at most ${data.most_states.toLocaleString("en")}`);
    const endless = !base.terminal.some((x) => x);
    tasks.set("file", {
      id: "file", title: `${model.name} (from a file)`, text: "A task from a file.", best: null, encodes: [], policies: {}, code: "",
      weights: endless ? "discounted" : "visits", editable: false, grid: null, memories, model,
    });
    state.file = model;
  }

  const task = () => tasks.get(state.task);

  // ------------------------------------------------------------------ the model

  function baseModel() {
    if (!state.rewards) return W.decode(task().model);
    return W.twoStep(state.rewards, "two steps");
  }

  /** A new setting: model, loop from uniform, the best deterministic policy, an episode. A link may ask for the loop at its
   * end or for the best policy, so that it shows what it was given to show. */
  function begin() {
    pause();
    P = W.augment(baseModel(), state.memory);
    rowsOf = P.rowM[0];
    findBest();
    if (state.at === "best" && !canTakeBest()) state.at = null;
    const kept = state.at ? null : W.policyFromText(P, state.pi);
    loop = new W.Loop(P, state.weights, state.at === "best" ? bestPolicy(W.uniform(P)) : kept || undefined);
    plain = state.at !== "best" && !kept;
    const { at } = state, most = at === "end" ? MOST_ITERATES : at ? 0 : state.n;
    state.pi = null;
    state.n = 0;
    state.t = 0;
    advance(most, () => {
      state.at = at;
      changed();
    });
  }

  /** The model as a worker takes it. */
  const modelForWorker = () => (state.rewards ? { rewards: state.rewards } : task().model);

  /** Run the loop until it ends or has `most` iterates; then `done`. What takes long goes on in a worker, and can be stopped. */
  function advance(most, done) {
    const began = performance.now(), goesOn = () => !loop.ended && loop.n < most;
    while (goesOn() && performance.now() - began < AT_ONCE && loop.step(state.step));
    if (!goesOn() || !loop.now) { done(); return; }
    changed();
    running = W.background.follow(loop, modelForWorker(), state.memory, state.step, most, ({ n, values, loop: last }) => {
      Object.assign(running, { n, values });
      if (!last) { drawLoop(); return; }
      loop = last;
      running = null;
      done();
    });
    Object.assign(running, { n: loop.n, most, values: loop.values });
    drawLoop();
  }

  /** The best deterministic policy, at once if that is little work; else the worker looks for it, or for a good one. */
  function findBest() {
    forgetSearch();
    best = bestOf(P, state.memory);
    searching = best === null && P.nO * P.nA * P.nS <= MOST_SEARCHED;
    if (searching) {
      forgetSearch = W.background.lookForBest(modelForWorker(), state.memory, 20 * data.most_policies, (found) => {
        searching = false;
        best = found;
        draw();
      });
    }
  }

  /** The best deterministic memoryless policy: by looking at all of them, else what the package knows of it. */
  function bestOf(E, name) {
    const found = W.bestDeterministic(E, data.most_policies);
    return found || (task().encodes.includes(name) ? { value: task().best, choice: task().policies[name] || null, decided: true } : null);
  }

  const canTakeBest = () => best !== null && Number.isFinite(best.value) && best.choice !== null;

  /** A policy with the rows that the best deterministic one reaches set to what it does there. */
  function bestPolicy(from) {
    const pi = Float64Array.from(from);
    best.choice.forEach((a, o) => { if (a >= 0) for (let i = 0; i < P.nA; i++) pi[o * P.nA + i] = Number(i === a); });
    return pi;
  }

  /** The loop from a policy, and a link that says what is on show: nothing more ("at" null), its end or the best policy. */
  function restart(pi, at = null) {
    loop = new W.Loop(P, state.weights, pi);
    plain = pi === undefined;
    state.t = 0;
    moved(at);
  }

  /** After a change of the policy: a link says so, and the page follows. Addresses are written sparingly, browsers count them. */
  function moved(at) {
    if (state.at !== at) {
      state.at = at;
      writeHash();
    } else writeHashSoon();
    changed();
  }

  /** After any change of the policy: TD values, shortcuts, the episode, and everything on the page. */
  function changed() {
    bootstrapped = oneStep = marks = null;
    $("td-error").textContent = "";
    if (loop.now) {
      try {
        oneStep = W.td(P, loop.pi, 0, loop.now);
        bootstrapped = state.lambda === 0 ? oneStep : W.td(P, loop.pi, state.lambda, loop.now);
        marks = W.shortcuts(P, loop.pi, loop.now, oneStep);
      } catch (error) {
        if (!(error instanceof W.NeverEnds)) throw error;
        $("td-error").textContent = error.message;
      }
    }
    episode = W.sample(P, loop.pi, state.seed);
    state.t = Math.min(state.t, episode.steps.length);
    draw();
  }

  // ------------------------------------------------------------------ words

  /** The best history-based value: exported, or that of an edited table; undefined where neither is known. */
  function bestHistory() {
    if (state.rewards) return Math.max(...state.rewards.flat().map(W.parseNumber));
    return task().best === null ? undefined : task().best;
  }

  /** Whether a loop that ended did well: a sentence, a class, and a few words. */
  function judged(ended, found, history) {
    const where = ended.how === "fixed" ? `Settles at ${W.shown(ended.value)}`
      : `Limit cycle of period ${ended.period} around ${W.shown(ended.value)} (greedy goes back and forth, the policy stays stochastic)`;
    const below = (x) => ended.value < x - 1e-6 * Math.max(1, Math.abs(x));
    if (found && below(found.value)) {
      return [`${where}: stuck. ${found.decided ? "The best deterministic policy with this memory is worth" : "A deterministic policy with this memory is worth"} ${W.shown(found.value)}.`, "stuck", "stuck"];
    }
    if (history !== undefined && !below(history)) return [`${where}: as good as any policy with any memory.`, "best", "as good as any"];
    const more = history === undefined ? "" : ` With any memory ${W.shown(history)} is possible.`;
    if (found && found.decided) return [`${where}: no deterministic policy with this memory is better.${more}`, "best", "no deterministic policy is better"];
    return [`${where}.${more}`, "", ""];
  }

  function verdict() {
    if (running) return [`Running: iterate ${running.n.toLocaleString("en")} of at most ${running.most.toLocaleString("en")}, value ${W.shown(running.values[running.values.length - 1], 6)}. Stop keeps what is there.`, ""];
    if (loop.error) return [`${loop.error}. Change the policy or reset it.`, "stuck"];
    if (loop.ended) return judged(loop.ended, best, bestHistory());
    if (loop.n >= 100) {
      const recent = loop.values.slice(-100);
      return [`Not settled: over the last 100 iterates the value was between ${W.shown(Math.min(...recent))} and ${W.shown(Math.max(...recent))}.`, ""];
    }
    if (loop.greedy.every((a) => a < 0)) return ["No q-value is defined: the policy visits these rows for ever. Discounted weights are defined.", ""];
    if (state.at === "best" && loop.n === 0) return ["This is a best deterministic policy. Press Run to see whether the loop stays here.", ""];
    return [loop.n ? "The loop is on its way." : "Press Run to see where the loop ends from here.", ""];
  }

  // ------------------------------------------------------------------ drawing

  function draw() {
    const t = task(), style = data.styles[state.memory];
    document.documentElement.style.setProperty("--memory", style.color);
    $("about").textContent = t.text;
    $("sizes").textContent = `${P.nS} states, ${P.nO} rows (${state.memory === "none" ? "observations" : "memory and observation"}), ` +
      `${P.nA} actions${P.memory.nW > 1 ? " with their writes" : ""}, discount ${W.shown(P.gamma)}`;
    drawLoop();
    drawTables();
    drawEpisode();
    drawRewards();
    hooks.forEach((hook) => hook());
  }

  /** The card of the loop: all that changes while a worker runs it. */
  function drawLoop() {
    const style = data.styles[state.memory], values = running ? running.values : loop.values;
    $("value").textContent = W.shown(values[values.length - 1], 6);
    $("iterate").textContent = running ? running.n : loop.n;
    const bestEnds = best && Number.isFinite(best.value);
    $("best").textContent = bestEnds ? `${best.decided ? "" : "at least "}${W.shown(best.value, 6)}` : best ? "none of them ends" : searching ? "looking for it …" : "too many to try";
    $("history").textContent = bestHistory() === undefined ? "not known" : W.shown(bestHistory(), 6);
    const [text, kind] = verdict();
    $("verdict").textContent = text;
    $("verdict").className = `verdict ${kind}`;
    $("chart").innerHTML = W.chart(values, bestLevels(best), style);
    $("run").textContent = running ? "Stop" : "Run";
    $("play").textContent = timer === null ? "Play" : "Pause";
    $("play").setAttribute("aria-pressed", timer !== null);
    drawGreyed("loop-why", {
      play: whyStill(), one: loop.error ? "this policy has no values to improve on" : "", run: whyStill(),
      reset: "", "to-best": whyNotBest(),
    });
  }

  /** The levels of a chart: the best deterministic policy with the memory, and with any memory. */
  function bestLevels(found) {
    const known = found && Number.isFinite(found.value), history = bestHistory(), levels = [];
    if (known) levels.push({ value: found.value, text: `${found.decided ? "best" : "a good"} deterministic ${W.shown(found.value)}` });
    if (history !== undefined && !(known && Math.abs(found.value - history) < 1e-9)) levels.push({ value: history, text: `best with any memory ${W.shown(history)}` });
    return levels;
  }

  const hooks = []; // drawn after everything else: the laboratory's cards

  /** Why the loop has nothing left to do; empty if it has. */
  function whyStill() {
    if (loop.error) return "this policy has no values to improve on";
    if (loop.ended) return "the loop has ended; Reset starts it again";
    return loop.n >= MOST_ITERATES ? `the page stops after ${MOST_ITERATES} iterates` : "";
  }

  function whyNotBest() {
    if (canTakeBest()) return "";
    if (best && !Number.isFinite(best.value)) return "no deterministic policy ends";
    if (best) return `there are too many policies to try here; only the value ${W.shown(best.value)} is known, from the package`;
    return searching ? "it is still looked for" : "there are too many deterministic policies to try here";
  }

  /** Disable the buttons for which there is a reason, and say the reasons: below them, and on each for whoever points at it. */
  function drawGreyed(below, reasons) {
    const said = new Map();
    for (const [id, why] of Object.entries(reasons)) {
      const button = $(id);
      button.disabled = why !== "";
      button.title = why;
      if (why) said.set(why, [...(said.get(why) || []), button.getAttribute("aria-label") || button.textContent]);
    }
    $(below).textContent = [...said].map(([why, names]) => `${names.join(", ")}: ${why}.`).join(" ");
  }

  function rowsShown() {
    const rows = Array.from({ length: P.nO }, (_, o) => o).filter((o) => P.decides[o]);
    if (rows.length <= MANY_ROWS) return rows;
    return rows.filter((o) => P.rowM[o] === rowsOf);
  }

  function drawTables() {
    if (!P.decides) {
      P.decides = new Uint8Array(P.nO);
      for (let s = 0; s < P.nS; s++) if (!P.terminal[s]) P.decides[P.oCol[s]] = 1;
    }
    const all = P.rowM.filter((_, o) => P.decides[o]), many = all.length > MANY_ROWS;
    $("rows-label").hidden = !many || P.memory.nM === 1;
    if (many) {
      const states = Array.from(new Set(all)).sort((x, y) => x - y);
      $("rows-of").innerHTML = states.map((m) => `<option value="${m}"${m === rowsOf ? " selected" : ""}>${W.escape(P.memory.label(m))}</option>`).join("");
    }
    const here = state.t < episode.steps.length ? episode.steps[state.t].o : -1;
    const rows = rowsShown(), reached = loop.now ? loop.now.reached : new Uint8Array(P.nO).fill(1);
    const greedy = loop.now ? loop.greedy : new Int32Array(P.nO).fill(-1);
    const at = (o, a) => o * P.nA + a;
    const named = (o, a) => {
      const label = W.rowLabels(P, o);
      return `${W.actionLabel(P, a)} ${label.m === null ? "" : `with memory ${label.m} `}${label.o === null ? "" : `seeing ${label.o}`}`;
    };
    $("policy").innerHTML = W.table(P, {
      rows, reached, here, caption: "Policy π: press a cell to always do that",
      heat: (o, a) => loop.pi[at(o, a)],
      mark: (o, a) => (greedy[o] === a ? "greedy" : ""),
      cell: (o, a) => `<button type="button" data-o="${o}" data-a="${a}" aria-label="${W.escape(named(o, a))}: ${W.probability(loop.pi[at(o, a)])}">${W.probability(loop.pi[at(o, a)])}</button>`,
      last: (o) => `<button type="button" data-o="${o}" data-a="-1" title="make this row uniform" aria-label="make this row uniform">=</button>`,
    });
    const nothing = new Float64Array(P.nO * P.nA).fill(NaN);
    const q = loop.now ? loop.now.q : nothing;
    $("true-q").innerHTML = W.table(P, {
      rows, reached, here, caption: "True values q", heat: W.rowHeat(P, q),
      mark: (o, a) => (greedy[o] === a ? "greedy" : ""), cell: (o, a) => W.brief(q[at(o, a)]),
    });
    const td = bootstrapped ? bootstrapped.q : nothing;
    const kinds = ["", "weak", "strict"];
    $("td-q").innerHTML = W.table(P, {
      rows, reached, here, caption: `TD(${W.shown(state.lambda)}) values`, heat: W.rowHeat(P, td),
      mark: (o, a) => (marks ? kinds[marks[at(o, a)]] : ""),
      cell: (o, a) => W.brief(td[at(o, a)]) + (marks && marks[at(o, a)] ? `<sup>${marks[at(o, a)] === 2 ? "S" : "w"}</sup>` : ""),
    });
    $("shortcuts").textContent = shortcutWords();
  }

  /** How many shortcuts there are among the pairs that can be compared, and how many cannot. */
  function shortcutWords() {
    if (!marks) return "Shortcuts: unknown, because the TD values are not defined";
    if (loop.pi.every((x) => x > 0)) return "A shortcut is an action that the policy does not take; this policy takes every action with some probability, so it has none";
    const count = (kind) => marks.filter((x) => x === kind).length;
    let open = 0;
    for (let i = 0; i < marks.length; i++) {
      const o = Math.floor(i / P.nA);
      if (loop.now.reached[o] && [loop.now.q[i], oneStep.q[i], loop.now.vGivenO[o], oneStep.v[o]].some(Number.isNaN)) open += 1;
    }
    return `${count(2)} strict and ${count(1)} weak shortcuts of this policy${open ? `; ${open} pairs of row and action cannot be compared, because a value is not defined` : ""}`;
  }

  function drawEpisode() {
    const { steps } = episode, t = state.t, over = t === steps.length;
    const s = t === 0 ? episode.first : steps[t - 1].next;
    const m = P.memory.kind === "none" ? "" : `, memory ${P.memory.label(P.m[s])}`;
    const gained = steps.slice(0, t).reduce((total, step, i) => total + P.gamma ** i * step.r, 0);
    const end = over ? (episode.ended ? " The episode is over." : " The episode is cut off here.") : "";
    $("now").textContent = `Time step ${t} of ${steps.length}${episode.ended ? "" : " or more"}: state ${P.base.S[P.s[s]]}${m}, ` +
      `${over && episode.ended ? "" : `sees ${P.base.O[P.o[s]]}, `}return so far ${W.shown(gained)}.${end}`;
    $("time").max = steps.length;
    $("time").value = t;
    const before = t === 0 ? "this is the first time step" : "", after = over ? "this is the last time step" : "";
    drawGreyed("episode-why", { first: before, back: before, forward: after, last: after });
    const rows = steps.slice(0, Math.min(t + 1, steps.length)).map((step, i) => {
      const { nW, W: writes } = P.memory, done = i < t;
      const write = P.memory.kind === "none" ? [] : [P.memory.label(P.m[step.s]), done ? writes[step.a % nW] : ""];
      const cells = [i, P.base.S[P.s[step.s]], P.base.O[P.o[step.s]], done ? P.base.A[Math.floor(step.a / nW)] : "?", done ? W.shown(step.r) : ""];
      const order = [cells[0], cells[1], ...write.slice(0, 1), cells[2], cells[3], ...write.slice(1), cells[4]];
      return `<tr class="${done ? "" : "here"}">${order.map((x) => `<td>${W.escape(x)}</td>`).join("")}</tr>`;
    });
    const heads = P.memory.kind === "none" ? ["t", "state", "sees", "action", "reward"] : ["t", "state", "memory", "sees", "action", "write", "reward"];
    $("trace").innerHTML = `<table><thead><tr>${heads.map((h) => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${rows.reverse().join("")}</tbody></table>`;
    const plan = task().grid;
    $("plan").hidden = !plan;
    if (plan) {
      const [x, y] = P.base.O[P.o[s]].slice(1, -1).split(",").map(Number);
      const force = P.base.S[P.s[s]].includes("on") ? "on" : "off";
      $("plan").innerHTML = W.grid(P, plan, loop.pi, P.m[s], [x, y], `the agent at ${x}, ${y}; the force is ${force}`) +
        `<p>The force is <strong>${force}</strong>. Arrows: the likeliest action with this memory${P.memory.nW > 1 ? ", and its write" : ""}. ` +
        `${plan.marks.map(([mark, name]) => W.escape(`${mark}: ${name}`)).join(", ")}.</p>`;
    }
  }

  function drawRewards() {
    const editable = task().editable;
    $("rewards").hidden = !editable;
    if (!editable || $("table").contains(document.activeElement)) return;
    const rows = state.rewards || data.rewards;
    $("actions").value = rows.length;
    const heads = rows.map((_, a) => `<th scope="col">${a}</th>`).join("");
    const body = rows.map((row, i) => `<tr><th scope="row">${i}</th>${row.map((r, j) =>
      `<td><input inputmode="decimal" size="5" value="${W.escape(r)}" data-i="${i}" data-j="${j}" aria-label="reward of ${i}, then ${j}"></td>`).join("")}</tr>`);
    $("table").innerHTML = `<table><caption>r[first][second]</caption><thead><tr><th scope="col">first \\ second</th>${heads}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  }

  // ------------------------------------------------------------------ controls

  function pause() {
    clearTimeout(timer);
    timer = null;
    if (running) running.forget();
    running = null;
  }

  function play() {
    const speed = Number($("speed").value);
    let going = true;
    for (let i = 0; i < speed && going; i++) going = !loop.ended && loop.n < MOST_ITERATES && loop.step(state.step);
    timer = going ? setTimeout(play, SPEEDS[speed]) : null;
    moved(null);
  }

  /** The policy with one row changed; the loop starts again from it. */
  function edit(o, a) {
    const pi = Float64Array.from(loop.pi);
    for (let i = 0; i < P.nA; i++) pi[o * P.nA + i] = a < 0 ? 1 / P.nA : Number(i === a);
    pause();
    const { t } = state;
    loop = new W.Loop(P, state.weights, pi);
    plain = false;
    state.t = t;
    moved(null);
  }

  function takeBest() {
    pause();
    restart(bestPolicy(W.uniform(P)), "best");
  }

  function move(t) {
    state.t = Math.max(0, Math.min(t, episode.steps.length));
    const s = state.t === 0 ? episode.first : episode.steps[state.t - 1].next;
    rowsOf = P.m[s];
    draw();
  }

  function setRewards(rows) {
    state.rewards = rows;
    state.at = null;
    writeHash();
    endComparison();
    $("everywhere").innerHTML = "";
    begin();
  }

  /** Where the loop ends for the present task with every memory, one after the other in the worker. */
  function everywhere() {
    endComparison();
    const base = baseModel(), model = modelForWorker(), names = Object.keys(task().memories), rows = names.map((name) => [name, "waiting", "", "", ""]);
    const show = () => {
      const cells = rows.map(([name, ends, most, kind, words]) => `<tr><th scope="row">${name}</th><td>${ends}</td><td>${most}</td><td class="${kind}">${W.escape(words)}</td></tr>`);
      $("everywhere").innerHTML = `<table><caption>The loop from uniform, step size ${state.step}</caption><thead><tr><th scope="col">memory</th>` +
        `<th scope="col">ends at</th><th scope="col">best deterministic</th><th scope="col">verdict</th></tr></thead><tbody>${cells.join("")}</tbody></table>`;
    };
    const next = (i) => {
      if (i === names.length) return;
      const E = W.augment(base, names[i]), found = bestOf(E, names[i]);
      const job = W.background.follow(new W.Loop(E, state.weights), model, names[i], state.step, MOST_ITERATES, ({ n, values, ended, loop: last }) => {
        const now = W.shown(values[values.length - 1]);
        if (!last) rows[i].splice(1, 1, `${now} at iterate ${n}`);
        else {
          const [, kind, words] = ended ? judged(ended, found, bestHistory()) : ["", "", `not settled after ${n} iterates`];
          const how = ended && ended.period ? `limit cycle of period ${ended.period}, ` : "";
          rows[i] = [names[i], ended ? W.shown(ended.value) : now, found ? W.shown(found.value) : "–", kind, how + words];
          next(i + 1);
        }
        show();
      });
      endComparison = job.forget;
    };
    next(0);
    show();
  }

  let endComparison = () => {};

  function fillControls() {
    $("task").innerHTML = [...tasks.values()].map((t) => `<option value="${W.escape(t.id)}">${W.escape(t.title)}</option>`).join("");
    $("task").value = state.task;
    $("memory").innerHTML = Object.keys(task().memories).map((name) => `<option value="${name}">${name === "none" ? "none" : name}</option>`).join("");
    $("memory").value = state.memory;
    $("step").value = $("step-number").value = state.step;
    $("lambda").value = state.lambda;
    $("lambda-shown").textContent = state.lambda;
    $("weights").value = state.weights;
    $("seed").value = state.seed;
  }

  function set(changes) {
    pause();
    Object.assign(state, changes);
    if (["task", "memory", "step", "weights"].some((name) => name in changes)) state.at = null;
    if ("step" in changes && loop.n > 0) plain = false;
    if ("task" in changes) {
      state.rewards = null;
      state.weights = task().weights;
      if (!(state.memory in task().memories)) state.memory = "none";
      endComparison();
      $("everywhere").innerHTML = "";
    }
    fillControls();
    writeHash();
    if ("task" in changes || "memory" in changes) begin();
    else if ("weights" in changes) restart();
    else changed();
  }

  function listen() {
    const on = (id, event, action) => $(id).addEventListener(event, action);
    on("task", "change", (e) => set({ task: e.target.value }));
    on("memory", "change", (e) => set({ memory: e.target.value }));
    on("weights", "change", (e) => set({ weights: e.target.value }));
    on("lambda", "input", (e) => set({ lambda: Number(e.target.value) }));
    on("step", "input", (e) => set({ step: Number(e.target.value) }));
    on("step-number", "change", (e) => {
      const x = Number(e.target.value);
      set({ step: x >= 0.001 && x <= 1 ? x : state.step });
    });
    on("reset", "click", () => { pause(); restart(); });
    on("one", "click", () => { pause(); loop.step(state.step); moved(null); });
    on("play", "click", () => { if (timer === null) play(); else { pause(); draw(); } });
    on("run", "click", () => {
      if (running) { running.stop(); return; }
      pause();
      advance(MOST_ITERATES, () => moved(plain && loop.ended ? "end" : null));
    });
    on("to-best", "click", takeBest);
    on("policy", "click", (e) => {
      const button = e.target.closest("button");
      if (!button) return;
      const { o, a } = button.dataset;
      edit(Number(o), Number(a));
      const again = $("policy").querySelector(`button[data-o="${o}"][data-a="${a}"]`);
      if (again) again.focus();
    });
    on("rows-of", "change", (e) => { rowsOf = Number(e.target.value); draw(); });
    on("seed", "change", (e) => { state.t = 0; set({ seed: Math.max(0, Math.round(Number(e.target.value)) || 0) }); });
    on("new", "click", () => { state.t = 0; set({ seed: state.seed + 1 }); });
    on("first", "click", () => move(0));
    on("back", "click", () => move(state.t - 1));
    on("forward", "click", () => move(state.t + 1));
    on("last", "click", () => move(episode.steps.length));
    on("time", "input", (e) => move(Number(e.target.value)));
    on("table", "change", (e) => {
      const { i, j } = e.target.dataset, valid = Number.isFinite(W.parseNumber(e.target.value));
      e.target.setAttribute("aria-invalid", !valid);
      $("reward-error").textContent = valid ? "" : `“${e.target.value}” is no number: write one such as -5, 0.75 or 3/4.`;
      if (!valid) return;
      const rows = (state.rewards || data.rewards).map((row) => row.slice());
      rows[i][j] = e.target.value.trim();
      setRewards(rows);
    });
    on("actions", "change", (e) => {
      const k = Number(e.target.value), rows = state.rewards || data.rewards;
      setRewards(Array.from({ length: k }, (_, i) => Array.from({ length: k }, (_, j) => (rows[i] && rows[i][j]) || "0")));
    });
    on("paper", "click", () => setRewards(null));
    on("zero", "click", () => setRewards((state.rewards || data.rewards).map((row) => row.map(() => "0"))));
    on("random", "click", () => setRewards((state.rewards || data.rewards).map((row) => row.map(() => String(Math.round(8 * Math.random() - 4) / 2)))));
    on("compare", "click", everywhere);
    document.querySelectorAll("[data-try]").forEach((button) => button.addEventListener("click", () => {
      location.hash = button.dataset.try;
    }));
    window.addEventListener("hashchange", () => { readHash(); fillControls(); begin(); });
  }

  /** What the laboratory's cards see of the page. */
  W.page = {
    data, state, edit, restart, drawGreyed, writeHash, takeFile, set, shownTask: () => task(), baseModel, modelForWorker, bestOf, bestLevels, bestHistory,
    get P() { return P; }, get loop() { return loop; }, get episode() { return episode; }, get bootstrapped() { return bootstrapped; }, get best() { return best; },
    keepInAddress: (values) => { Object.assign(defaults, values); Object.assign(state.extra, values); },
    whenDrawn: (hook) => hooks.push(hook),
    start: () => { readHash(); fillControls(); listen(); begin(); },
  };
})(Workbench);
