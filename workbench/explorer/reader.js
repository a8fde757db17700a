/* Tasks from files: Cassandra's `.POMDP` (its matrices, rows, entries, wildcards) and the JSON of the package.
 *
 * Both become what the package exports (see export.py), by the conventions of `load_pomdp`: a state whose observation depends on the
 * action, or on entering which the reward depends on the observation, becomes the states (s, o). Rewards are read as entries only.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const MOST_FILE_STATES = 2000, NEAR_ONE = 1e-5;

  class FileError extends Error {
    constructor(message, line) {
      super(line ? `line ${line}: ${message}` : message);
    }
  }

  /** Distinct numbers by place, as the export has them. */
  class Numbering {
    constructor() { this.places = new Map(); }

    place(text) {
      if (!this.places.has(text)) this.places.set(text, this.places.size);
      return this.places.get(text);
    }
  }

  /** The export of tables: rows[s |A| + a] and emissions[s] are lists, numbers as texts. */
  function exported({ name, S, O, A, gamma, rows, emissions, mu, terminal }) {
    const numbering = new Numbering(), p = { ptr: [0], next: [], r: [], prob: [] }, omega = { ptr: [0], o: [], prob: [] };
    numbering.place("0");
    for (const row of rows) {
      for (const [next, r, prob] of row) { p.next.push(next); p.r.push(numbering.place(r)); p.prob.push(numbering.place(prob)); }
      p.ptr.push(p.next.length);
    }
    for (const row of emissions) {
      for (const [o, prob] of row) { omega.o.push(o); omega.prob.push(numbering.place(prob)); }
      omega.ptr.push(omega.o.length);
    }
    const start = mu.map(([s, x]) => [s, numbering.place(x)]);
    return { name, S, O, A, gamma, p, omega, mu: start, terminal, numbers: [...numbering.places.keys()] };
  }

  function tooLarge(count) {
    if (count > MOST_FILE_STATES) {
      throw new FileError(`too large for the browser: ${count.toLocaleString("en")} states, and the page takes at most ${MOST_FILE_STATES.toLocaleString("en")}; workbench on the command line takes it`);
    }
  }

  // ------------------------------------------------------------------ JSON

  const shownLabel = (x) => {
    if (x === null) return "∅";
    if (typeof x === "string" || Number.isInteger(x)) return String(x);
    if (x && Array.isArray(x.tuple)) return x.tuple.length === 1 ? `(${shownLabel(x.tuple[0])},)` : `(${x.tuple.map(shownLabel).join(", ")})`;
    throw new FileError(`no label: ${JSON.stringify(x)}`);
  };

  /** Where a text stops being JSON: browsers say so in different words, and not always where. */
  function jsonTrouble(text) {
    let at = 0;
    const next = (pattern) => {
      pattern.lastIndex = at;
      const found = pattern.exec(text);
      if (found) at = pattern.lastIndex;
      return Boolean(found);
    };
    const blank = () => next(/[ \t\r\n]*/y), sign = (x) => { blank(); return text[at] === x && Boolean((at += 1)); };
    const string = () => { blank(); return next(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y); };
    const list = (end, item) => sign(end) || (() => { do if (!item()) return false; while (sign(",")); return sign(end); })();
    const value = () => {
      if (sign("{")) return list("}", () => string() && sign(":") && value());
      if (sign("[")) return list("]", value);
      return string() || next(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y);
    };
    value();
    blank();
    return at;
  }

  function readJson(text) {
    let data;
    try {
      data = JSON.parse(text);
    } catch (error) {
      const at = jsonTrouble(text), found = at < text.length ? `“${text.slice(at, at + 12).split(/\s/)[0]}”` : "the end of the file";
      throw new FileError(`not JSON from ${found} on`, text.slice(0, at).split("\n").length);
    }
    if (data && data.task && data.task.p) data = data.task; // a find of the gallery
    for (const key of ["actions", "mu", "gamma", "terminal", "omega", "p"]) {
      if (data === null || typeof data !== "object" || !(key in data)) throw new FileError(`this JSON is no task: it has no field "${key}"`);
    }
    const index = (labels) => new Map(labels.map((label, i) => [JSON.stringify(label), i]));
    const find = (places, label, what) => {
      if (!places.has(JSON.stringify(label))) throw new FileError(`${what} ${shownLabel(label)} is not listed`);
      return places.get(JSON.stringify(label));
    };
    const S = data.omega.map(([s]) => s), A = data.actions, O = [], atS = index(S), atA = index(A), atO = new Map();
    tooLarge(S.length);
    const emissions = data.omega.map(([s, row]) => summing(row.map(([o, x]) => {
      if (!atO.has(JSON.stringify(o))) { atO.set(JSON.stringify(o), O.length); O.push(o); }
      return [atO.get(JSON.stringify(o)), rational(x)];
    }), 1, () => `omega(. | s=${shownLabel(s)})`));
    const terminal = data.terminal.map((s) => find(atS, s, "terminal state"));
    const rows = Array.from({ length: S.length * A.length }, () => []);
    for (const [s, a, row] of data.p) {
      rows[find(atS, s, "state") * A.length + find(atA, a, "action")] =
        row.map(([next, r, x]) => [find(atS, next, "state"), rational(r), rational(x)]);
    }
    rows.forEach((row, i) => {
      const s = Math.floor(i / A.length);
      if (!terminal.includes(s)) summing(row, 2, () => `p(. | s=${shownLabel(S[s])}, a=${shownLabel(A[i % A.length])})`);
    });
    const mu = summing(data.mu.map(([s, x]) => [find(atS, s, "state"), rational(x)]), 1, () => "mu");
    return exported({ name: String(data.name || "file"), S: S.map(shownLabel), O: O.map(shownLabel), A: A.map(shownLabel), gamma: rational(data.gamma), rows, emissions, mu, terminal });
  }

  function rational(x) {
    if (typeof x !== "string" || !/^-?\d{1,400}(\/\d{1,400})?$/.test(x) || W.parseFraction(x) === null) throw new FileError(`no fraction: ${JSON.stringify(x)}`);
    const { n, d } = W.parseFraction(x);
    return d === 1n ? `${n}` : `${n}/${d}`;
  }

  /** Refuse a row whose probabilities do not sum to one. */
  function summing(row, place, named) {
    const total = row.reduce((sum, entry) => W.Fraction.add(sum, W.parseFraction(entry[place])), W.Fraction.ZERO);
    if (total.n !== total.d || row.some((entry) => W.parseFraction(entry[place]).n < 0n)) throw new FileError(`${named()} sums to ${W.fractionText(total)}, not to 1`);
    return row;
  }

  // ------------------------------------------------------------------ .POMDP

  const WORDS = ["discount", "values", "states", "actions", "observations", "start", "T", "O", "R"];

  class Tokens {
    constructor(text) {
      this.list = [];
      this.at = 0;
      text.split("\n").forEach((line, i) => {
        for (const word of line.split("#")[0].replace(/:/g, " : ").split(/\s+/)) if (word) this.list.push({ word, line: i + 1 });
      });
    }

    get word() { return this.at < this.list.length ? this.list[this.at].word : null; }

    get line() { return this.list[Math.min(this.at, this.list.length - 1)]?.line || 1; }

    /** Whether a new statement begins here. */
    begins() {
      const after = this.list[this.at + 1]?.word;
      if (this.word === "start" && (after === "include" || after === "exclude")) return true;
      return WORDS.includes(this.word) && after === ":";
    }

    take(what) {
      if (this.word === null) throw new FileError(`the file ends where ${what} should stand`, this.line);
      return this.list[this.at++].word;
    }

    expect(word) {
      const line = this.line, found = this.take(`“${word}”`);
      if (found !== word) throw new FileError(`expected “${word}”, found “${found}”`, line);
    }

    number() {
      const line = this.line, word = this.take("a number");
      if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) throw new FileError(`expected a number, found “${word}”`, line);
      return Number(word);
    }

    rest() {
      const found = [];
      while (this.word !== null && !this.begins()) found.push(this.take("a word"));
      return found;
    }
  }

  function readPomdp(text, name) {
    const tokens = new Tokens(text), head = { discount: null, sign: 1, states: null, actions: null, observations: null, start: null };
    if (tokens.word === null) throw new FileError("the file is empty");
    let T, Z, R;
    const ready = () => {
      if (T) return;
      for (const key of ["states", "actions", "observations"]) if (!head[key]) throw new FileError(`${key} are not declared`, tokens.line);
      tooLarge(head.states.length);
      const nS = head.states.length, nA = head.actions.length, nO = head.observations.length;
      T = Array.from({ length: nA * nS }, () => new Float64Array(nS));
      Z = Array.from({ length: nA * nS }, () => new Float64Array(nO));
      T.lines = new Int32Array(nA * nS); // where each row was written last, 0 if nowhere
      Z.lines = new Int32Array(nA * nS);
      R = [];
    };
    const which = (labels, what) => {
      const line = tokens.line, word = tokens.take(what);
      if (word === "*") return labels.map((_, i) => i);
      const at = labels.indexOf(word), number = /^\d+$/.test(word) ? Number(word) : -1;
      if (at >= 0) return [at];
      if (number >= 0 && number < labels.length) return [number];
      throw new FileError(`there is no ${what} “${word}”`, line);
    };
    const more = () => { if (tokens.word !== ":") return false; tokens.at += 1; return true; };
    const vector = (length, uniformWord) => {
      if (uniformWord && tokens.word === "uniform") { tokens.at += 1; return new Float64Array(length).fill(1 / length); }
      return Float64Array.from({ length }, () => tokens.number());
    };
    /** T or O: matrices, rows or entries, for the actions and states named. */
    const table = (target, columns, what) => {
      const { states, actions } = head;
      let line = tokens.line;
      const as = which(actions, "action"), put = (a, s, row) => { target[a * states.length + s] = row; target.lines[a * states.length + s] = line; };
      if (!more()) {
        if (tokens.word === "identity" && columns === states) {
          tokens.at += 1;
          for (const a of as) states.forEach((_, s) => put(a, s, Float64Array.from(columns, (_, i) => Number(i === s))));
          return;
        }
        const uniform = tokens.word === "uniform";
        if (uniform) tokens.at += 1;
        states.forEach((_, s) => {
          line = tokens.line;
          const row = uniform ? new Float64Array(columns.length).fill(1 / columns.length) : vector(columns.length, false);
          for (const a of as) put(a, s, Float64Array.from(row));
        });
        return;
      }
      const ss = which(states, "state");
      if (!more()) {
        if (tokens.word === "reset") throw new FileError("rows written “reset” are read by load_pomdp, not by this page", tokens.line);
        const row = vector(columns.length, true);
        for (const a of as) for (const s of ss) put(a, s, Float64Array.from(row));
        return;
      }
      const cs = which(columns, what), x = tokens.number();
      for (const a of as) for (const s of ss) {
        const row = target[a * states.length + s];
        for (const c of cs) row[c] = x;
        put(a, s, row);
      }
    };
    while (tokens.word !== null) {
      const line = tokens.line;
      if (!tokens.begins()) throw new FileError(`expected one of ${WORDS.join(", ")}, found “${tokens.word}”`, line);
      const word = tokens.take("a statement");
      if (word === "start") {
        const kind = tokens.word === ":" ? "" : tokens.take("include or exclude");
        tokens.expect(":");
        head.start = { kind, words: tokens.rest(), line };
        continue;
      }
      tokens.expect(":");
      if (word === "discount") head.discount = tokens.number();
      else if (word === "values") {
        const kind = tokens.take("reward or cost");
        if (!["reward", "cost"].includes(kind)) throw new FileError(`values are reward or cost, not “${kind}”`, line);
        head.sign = kind === "cost" ? -1 : 1;
      } else if (["states", "actions", "observations"].includes(word)) {
        const words = tokens.rest();
        if (words.length === 0) throw new FileError(`${word} has no names`, line);
        if (words.length === 1 && /^\d+$/.test(words[0])) tooLarge(word === "states" ? Number(words[0]) : 0);
        head[word] = words.length === 1 && /^\d+$/.test(words[0]) ? Array.from({ length: Number(words[0]) }, (_, i) => String(i)) : words;
      } else {
        ready();
        if (word === "T") table(T, head.states, "state");
        else if (word === "O") table(Z, head.observations, "observation");
        else {
          const as = which(head.actions, "action");
          tokens.expect(":");
          const ss = which(head.states, "state");
          if (tokens.word !== ":") throw new FileError("rewards given as matrices are read by load_pomdp, not by this page", tokens.line);
          tokens.expect(":");
          const ns = which(head.states, "state");
          if (tokens.word !== ":") throw new FileError("rewards given as rows are read by load_pomdp, not by this page", tokens.line);
          tokens.expect(":");
          R.push({ as, ss, ns, os: which(head.observations, "observation"), r: tokens.number(), line });
        }
      }
    }
    ready();
    if (head.discount === null) throw new FileError("the file has no discount");
    return assembled({ ...head, last: tokens.line }, T, Z, R, name);
  }

  /** Rows that sum to one within the tolerance, divided by their sum. */
  function normalised(row, named, line) {
    const total = row.reduce((x, y) => x + y, 0);
    if (row.some((x) => x < 0)) throw new FileError(`${named()} has a probability below 0`, line);
    if (Math.abs(total - 1) > NEAR_ONE) throw new FileError(`${named()} sums to ${Number(total.toPrecision(6))}, not to 1`, line);
    return total === 1 ? row : row.map((x) => x / total);
  }

  function assembled(head, T, Z, R, name) {
    const { states, actions, observations, sign } = head, nS = states.length, nA = actions.length, nO = observations.length;
    const rewards = new Map(), key = (a, s, next, o) => ((a * nS + s) * nS + next) * nO + o;
    for (const { as, ss, ns, os, r } of R) {
      if (as.length * ss.length * ns.length * os.length > 5e6) throw new FileError("too large for the browser: its rewards are more than five million numbers");
      for (const a of as) for (const s of ss) for (const next of ns) for (const o of os) rewards.set(key(a, s, next, o), r);
    }
    const checked = (table, word, from) => table.map((row, i) => {
      const named = () => `${word}(. | ${from}=${states[i % nS]}, a=${actions[Math.floor(i / nS)]})`;
      if (table.lines[i] === 0) throw new FileError(`the file ends, and ${named()} is not given`, head.last);
      return normalised(row, named, table.lines[i]);
    });
    const moves = checked(T, "T", "s"), shown = checked(Z, "O", "s'");
    const reward = (a, s, next, o) => rewards.get(key(a, s, next, o)) || 0;
    const same = (one, other) => one.every((x, o) => x === other[o]);
    const start = startOf(head);
    /** Where every start state shows the same whatever was done, it shows that first; else nothing is seen before the first action. */
    const dark = start.some(([s]) => actions.some((_, a) => !same(shown[s], shown[a * nS + s])));
    const rowOf = states.map((_, next) => {
      const leading = actions.map((_, a) => a).filter((a) => moves.slice(a * nS, (a + 1) * nS).some((row) => row[next] > 0));
      const known = !dark && start.some(([s]) => s === next) ? [...leading, 0] : leading;
      const row = shown[(known.length ? known[0] : 0) * nS + next];
      if (known.some((a) => !same(row, shown[a * nS + next]))) return null;
      const paysByO = leading.some((a) => states.some((_, s) => {
        if (!(moves[a * nS + s][next] > 0)) return false;
        const found = new Set();
        row.forEach((y, o) => { if (y > 0) found.add(reward(a, s, next, o)); });
        return found.size > 1;
      }));
      return paysByO ? null : row; // null: the state is taken apart by what it showed
    });
    const nodes = [], place = new Map();
    const find = (s, o) => {
      const own = `${s},${o}`;
      if (!place.has(own)) { place.set(own, nodes.length); nodes.push([s, o]); }
      return place.get(own);
    };
    const BEFORE = nO, mu = [];
    for (const [s, x] of start) {
      if (dark) mu.push([find(s, BEFORE), x]);
      else if (rowOf[s]) mu.push([find(s, -1), x]);
      else shown[s].forEach((y, o) => { if (y > 0) mu.push([find(s, o), String(Number(x) * y)]); });
    }
    const rows = [];
    for (let i = 0; i < nodes.length; i++) {
      tooLarge(nodes.length);
      const [s] = nodes[i];
      for (let a = 0; a < nA; a++) {
        const row = [], put = (next, o, r, x) => row.push([find(next, o), String(sign * r), String(x)]);
        moves[a * nS + s].forEach((x, next) => {
          if (x === 0) return;
          if (rowOf[next]) put(next, -1, reward(a, s, next, rowOf[next].findIndex((y) => y > 0)), x);
          else shown[a * nS + next].forEach((y, o) => { if (y > 0) put(next, o, reward(a, s, next, o), x * y); });
        });
        rows.push(row);
      }
    }
    const names = dark ? [...observations, "start"] : observations;
    return exported({
      name, O: names, A: actions, gamma: String(head.discount), rows, terminal: [], mu,
      S: nodes.map(([s, o]) => (o < 0 ? states[s] : `(${states[s]}, ${names[o]})`)),
      emissions: nodes.map(([s, o]) => (o < 0 ? Array.from(rowOf[s], (x, k) => [k, String(x)]).filter(([, x]) => x !== "0") : [[o, "1"]])),
    });
  }

  function startOf({ start, states }) {
    const spread = (places) => places.map((s) => [s, String(1 / places.length)]), every = states.map((_, s) => s);
    if (!start) return spread(every);
    const { kind, words, line } = start;
    const find = (word) => {
      const s = states.indexOf(word), n = /^\d+$/.test(word) ? Number(word) : -1;
      if (s < 0 && !(n >= 0 && n < states.length)) throw new FileError(`there is no state “${word}”`, line);
      return s >= 0 ? s : n;
    };
    if (kind === "include") return spread(words.map(find));
    if (kind === "exclude") { const out = words.map(find); return spread(every.filter((s) => !out.includes(s))); }
    if (words.length === 1 && words[0] === "uniform") return spread(every);
    if (words.length === 1 && states.length > 1) return [[find(words[0]), "1"]];
    if (words.length !== states.length) throw new FileError(`start gives ${words.length} numbers for ${states.length} states`, line);
    const row = normalised(words.map((word) => {
      if (!Number.isFinite(Number(word))) throw new FileError(`expected a number, found “${word}”`, line);
      return Number(word);
    }), () => "start", line);
    return Array.from(row, (x, s) => [s, String(x)]).filter(([, x]) => x !== "0");
  }

  /** The export of a file's task; FileError says what is wrong, with the line where there is one. */
  function readTask(text, fileName) {
    let model = null;
    try {
      model = /^\s*[[{]/.test(text) || /\.json$/i.test(fileName) ? readJson(text) : readPomdp(text, fileName.replace(/\.[^.]*$/, ""));
    } catch (error) {
      if (error instanceof FileError) throw error; // others: lists and texts are not where the format has them
    }
    if (!model || !W.isExport(model)) throw new FileError("its labels, numbers or rows make no task");
    return model;
  }

  Object.assign(W, { FileError, readTask, MOST_FILE_STATES });
})(Workbench);
