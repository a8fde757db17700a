/* Everything that a link keeps: policies and tasks of one's own as short texts. And Python that rebuilds what is shown. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  /** A policy as text: rows that are uniform left out, `o.a` where one action is certain, else `o:p_p_...`. */
  function policyText(P, pi) {
    const rows = [];
    for (let o = 0; o < P.nO; o++) {
      const row = Array.from(pi.subarray(o * P.nA, (o + 1) * P.nA));
      if (row.every((x) => x === 1 / P.nA)) continue;
      const sure = row.indexOf(1);
      rows.push(sure >= 0 ? `${o}.${sure}` : `${o}:${row.join("_")}`);
    }
    return rows.join(";");
  }

  /** The policy of such a text; null if it is none for this model. */
  function policyFromText(P, text) {
    if (!text) return null;
    const pi = W.uniform(P);
    for (const part of text.split(";")) {
      const found = /^(\d+)([.:])(.+)$/.exec(part), o = found ? Number(found[1]) : P.nO;
      if (o >= P.nO) return null;
      const row = found[2] === "." ? Array.from({ length: P.nA }, (_, a) => Number(String(a) === found[3])) : found[3].split("_").map(Number);
      const total = row.reduce((x, y) => x + y, 0);
      if (row.length !== P.nA || !(Math.abs(total - 1) < 1e-9) || row.some((x) => !(x >= 0))) return null;
      pi.set(row, o * P.nA);
    }
    return pi;
  }

  const toBase64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const fromBase64 = (text) => new TextDecoder().decode(Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)));

  const MOST_ITERATES = 4000; // of the loop on the page
  const LONGEST = 24000; // characters that a link may hold of a file

  /** A task's export as text for a link; empty if it is too long for one. */
  function packed(model) {
    const text = JSON.stringify(model);
    return text.length > LONGEST ? "" : toBase64(text);
  }

  /** Whether these are compressed rows: so many of them, each entry in its columns below the limits given. */
  function areRows(rows, count, columns) {
    const { ptr } = rows, length = ptr.at(-1);
    return ptr.length === count + 1 && ptr[0] === 0 && ptr.every((x, i) => Number.isInteger(x) && (i === 0 || x >= ptr[i - 1]))
      && Object.entries(columns).every(([name, most]) => rows[name].length === length && rows[name].every(place(most)));
  }
  const place = (most) => (i) => Number.isInteger(i) && i >= 0 && i < most;

  /** Whether every row of probabilities adds up to 1, up to rounding. */
  function addUp({ ptr, prob }, numbers, needed) {
    return Array.from({ length: ptr.length - 1 }, (_, row) => row).every((row) => {
      const entries = prob.slice(ptr[row], ptr[row + 1]).map((i) => numbers[i]);
      return entries.every((x) => x >= 0) && (needed(row) ? Math.abs(entries.reduce((x, y) => x + y, 0) - 1) < 1e-9 : true);
    });
  }

  /** Whether this is a task as the reader exports it: anybody can write a link or a file. */
  function isExport({ name, S, O, A, gamma, p, omega, mu, terminal, numbers }) {
    const values = numbers.map(W.parseNumber), discount = W.parseNumber(gamma), n = numbers.length;
    const ends = new Set(terminal), chosen = mu.map(([, i]) => values[i]);
    return [S, O, A].every((labels) => Array.isArray(labels) && labels.length > 0 && labels.every((x) => typeof x === "string") && new Set(labels).size === labels.length)
      && [name, gamma, ...numbers].every((x) => typeof x === "string") && values.every(Number.isFinite) && discount >= 0 && discount <= 1
      && terminal.every(place(S.length)) && mu.every(([s, i]) => place(S.length)(s) && place(n)(i))
      && areRows(p, S.length * A.length, { next: S.length, r: n, prob: n }) && areRows(omega, S.length, { o: O.length, prob: n })
      && addUp(p, values, (row) => !ends.has(Math.floor(row / A.length))) && addUp(omega, values, (s) => !ends.has(s))
      && chosen.every((x) => x >= 0) && Math.abs(chosen.reduce((x, y) => x + y, 0) - 1) < 1e-9;
  }

  /** The task of such a text; null if it is none. */
  function unpacked(text) {
    try {
      const model = JSON.parse(fromBase64(text));
      return isExport(model) ? model : null;
    } catch {
      return null; // a link that makes no sense
    }
  }

  const within = (low, high) => (text) => text.trim() !== "" && Number(text) >= low && Number(text) <= high;
  const flag = (text) => text === "" || text === "1";
  const oneOf = (...words) => (text) => words.includes(text);
  const LINKED = {
    step: within(0.001, 1), lambda: within(0, 1), seed: within(0, 999999), n: within(0, MOST_ITERATES),
    weights: oneOf("visits", "discounted"), at: oneOf("end", "best"),
    exact: flag, portrait: flag, epsilon: within(0, 1), alpha: within(0, 1), lam: within(0, 1),
    lgamma: (text) => text === "" || within(0, 1)(text), lseed: within(0, 2 ** 53), steps: within(1, 1e9),
  };

  /** What a link says about a setting, or the default: anybody can write a link, so only numbers in range and plain words pass. */
  function settingFromLink(name, text, otherwise) {
    if (text === null) return otherwise;
    const fits = Object.hasOwn(LINKED, name) ? LINKED[name] : (word) => /^[\w.]{0,40}$/.test(word);
    return fits(text) ? text : otherwise;
  }

  /** A table of 2 to 5 rows and columns from the text of a link, or null. */
  function rewardsFromText(text) {
    const rows = text.split(";").map((row) => row.split(","));
    const square = rows.length >= 2 && rows.length <= 5 && rows.every((row) => row.length === rows.length);
    return square && rows.flat().every((x) => Number.isFinite(W.parseNumber(x))) ? rows : null;
  }

  const quoted = (text) => JSON.stringify(text);
  /** The text of a number as a Python literal, decimals as floats unless they are exact; whatever is no number becomes a string, never code. */
  function python(text, exact = false) {
    const x = exact || !/[.e]/i.test(text) ? W.parseFraction(text) : null;
    if (x !== null) return x.d === 1n ? `${x.n}` : `F("${x.n}/${x.d}")`;
    return Number.isFinite(W.parseNumber(text)) ? String(W.parseNumber(text)) : quoted(text);
  }

  /** Python that rebuilds task, memory, policy and values: `code` makes the task of the list, `rewards` is an edited table. */
  function pythonCode({ model, code, rewards, memory, pi, weights, lambda, exact }) {
    const lines = ["from fractions import Fraction as F", ""];
    if (rewards) lines.push("from workbench.lab.sequences import discounted_sequence_task", `P = discounted_sequence_task([${rewards.map((row) => `[${row.map((x) => python(x, true)).join(", ")}]`).join(", ")}])`);
    else if (code) lines.push("import pomdps", `P = ${code}`);
    else lines.push(...tables(model));
    lines.push("", "from workbench import Policy, augment, evaluate, td_values", `E = augment(P, ${quoted(memory)})`);
    lines.push(`pi = Policy(E, [`, ...pi.map((row) => `    [${row.map((x) => python(x, exact)).join(", ")}],`), "])");
    lines.push(`found = evaluate(E, pi, weights=${quoted(weights)}${exact ? ", exact=True" : ""})`);
    lines.push(`td = td_values(E, pi, lam=${python(lambda, exact)}, weights=${quoted(weights)}${exact ? ", exact=True" : ""})`, "print(found.value)", "print(found.q)", "print(td.q)");
    return `${lines.join("\n")}\n`;
  }

  /** A task from a file, as the call that makes it. */
  function tables(model) {
    const number = (i) => python(model.numbers[i]), lines = ["from workbench import POMDP", "p = {"];
    const nA = model.A.length;
    for (let row = 0; row < model.S.length * nA; row++) {
      const s = Math.floor(row / nA), outcomes = [];
      for (let k = model.p.ptr[row]; k < model.p.ptr[row + 1]; k++) outcomes.push(`(${quoted(model.S[model.p.next[k]])}, ${number(model.p.r[k])}): ${number(model.p.prob[k])}`);
      if (outcomes.length) lines.push(`    (${quoted(model.S[s])}, ${quoted(model.A[row % nA])}): {${outcomes.join(", ")}},`);
    }
    lines.push("}", "omega = {");
    model.S.forEach((s, i) => {
      const shown = [];
      for (let e = model.omega.ptr[i]; e < model.omega.ptr[i + 1]; e++) shown.push(`${quoted(model.O[model.omega.o[e]])}: ${number(model.omega.prob[e])}`);
      lines.push(`    ${quoted(s)}: {${shown.join(", ")}},`);
    });
    lines.push("}", `P = POMDP.from_functions(name=${quoted(model.name)}, A=[${model.A.map(quoted).join(", ")}], p=lambda s, a: p[s, a], omega=omega.get,`,
      `    mu={${model.mu.map(([s, i]) => `${quoted(model.S[s])}: ${number(i)}`).join(", ")}}, gamma=${python(model.gamma)}, terminal={${model.terminal.map((s) => quoted(model.S[s])).join(", ")}})`);
    return lines.map((line) => line.replace("terminal={})", "terminal=())"));
  }

  Object.assign(W, { MOST_ITERATES, policyText, policyFromText, packed, unpacked, isExport, settingFromLink, rewardsFromText, pythonCode });
})(Workbench);
