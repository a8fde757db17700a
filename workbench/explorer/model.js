/* Models in the page: a POMDP as arrays, memories, and the POMDP that the two make (Appendix A.1 of the paper).
 *
 * A model has the labels S, O, A; p in compressed rows, row s |A| + a, with the columns pNext, pR, pProb; omega in compressed
 * rows oPtr, oCol, oProb; mu, gamma, terminal. An augmented one also knows, for each state, its s, m and o, for each
 * observation its m and o, and how many writes there are: action a |W| + w is a with write w.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  /** "17/20", "-5" or "0.25" as a number; NaN if it is none. */
  function parseNumber(text) {
    const parts = String(text).trim().replace("\u2212", "-").split("/");
    if (parts.length > 2 || parts.some((part) => !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part.trim()))) return NaN;
    return parts.length === 1 ? Number(parts[0]) : Number(parts[0]) / Number(parts[1]);
  }

  /** A model that knows its numbers as fractions as well (null where it was written in floats); they are no part of its listing. */
  function withFractions(model, exact) {
    return Object.defineProperty(model, "exact", { value: exact });
  }

  /** A model from what the package exports; see explorer/export.py. */
  function decode(exported) {
    const isExact = [...exported.numbers, exported.gamma].every((text) => /^-?\d+(\/\d+)?$/.test(text));
    const fractions = isExact ? exported.numbers.map(W.parseFraction) : [];
    const numbers = isExact ? fractions.map(W.fractionNumber) : exported.numbers.map(parseNumber);
    const take = (places) => Float64Array.from(places, (i) => numbers[i]);
    const nS = exported.S.length;
    const exact = isExact ? {
      gamma: W.parseFraction(exported.gamma), pR: exported.p.r.map((i) => fractions[i]), pProb: exported.p.prob.map((i) => fractions[i]),
      oProb: exported.omega.prob.map((i) => fractions[i]), mu: new Array(nS).fill(W.Fraction.ZERO),
    } : null;
    if (exact) exported.mu.forEach(([s, i]) => { exact.mu[s] = fractions[i]; });
    const mu = new Float64Array(nS), terminal = new Uint8Array(nS);
    exported.mu.forEach(([s, i]) => { mu[s] = numbers[i]; });
    exported.terminal.forEach((s) => { terminal[s] = 1; });
    return withFractions({
      name: exported.name, S: exported.S, O: exported.O, A: exported.A,
      nS, nO: exported.O.length, nA: exported.A.length, gamma: parseNumber(exported.gamma), mu, terminal,
      pPtr: Int32Array.from(exported.p.ptr), pNext: Int32Array.from(exported.p.next),
      pR: take(exported.p.r), pProb: take(exported.p.prob),
      oPtr: Int32Array.from(exported.omega.ptr), oCol: Int32Array.from(exported.omega.o), oProb: take(exported.omega.prob),
    }, exact);
  }

  /** Two steps of k actions, the reward r[a1][a2] paid at the end: the 4-action recall task with a table of one's own. */
  function twoStep(table, name) {
    const k = table.length, end = k + 1, { ZERO, ONE } = W.Fraction;
    const rewards = table.map((row) => row.map(parseNumber)), fractions = table.map((row) => row.map(W.parseFraction));
    const pPtr = [0], pNext = [], pR = [];
    for (let s = 0; s <= end; s++) {
      for (let a = 0; a < k; a++) {
        if (s !== end) { pNext.push(s === 0 ? a + 1 : end); pR.push(s === 0 ? 0 : rewards[s - 1][a]); }
        pPtr.push(pNext.length);
      }
    }
    const nS = k + 2, mu = new Float64Array(nS), terminal = new Uint8Array(nS);
    mu[0] = 1;
    terminal[end] = 1;
    const exact = fractions.flat().includes(null) ? null : {
      gamma: ONE, pR: [...table.map(() => ZERO), ...fractions.flat()], pProb: pNext.map(() => ONE),
      oProb: new Array(nS).fill(ONE), mu: [ONE, ...new Array(nS - 1).fill(ZERO)],
    };
    return withFractions({
      name, S: ["s*", ...rewards.map((_, a) => `s${a}`), "end"], O: ["o"], A: rewards.map((_, a) => String(a)),
      nS, nO: 1, nA: k, gamma: 1, mu, terminal,
      pPtr: Int32Array.from(pPtr), pNext: Int32Array.from(pNext), pR: Float64Array.from(pR),
      pProb: new Float64Array(pNext.length).fill(1),
      oPtr: Int32Array.from({ length: nS + 1 }, (_, i) => i), oCol: new Int32Array(nS), oProb: new Float64Array(nS).fill(1),
    }, exact);
  }

  /** The memory that a name such as "OA2" stands for, on a model: sizes, labels, and Gamma as arithmetic on places. */
  function memoryOn(P, name) {
    const [, kind, digits] = /^(none|K|B|OA|O)(\d*)$/.exec(name);
    const k = Number(digits);
    if (kind === "none") return { kind, k, nM: 1, nW: 1, W: ["-"], label: () => "-", next: (m, w) => w };
    if (kind === "B") {
      const bits = (m) => m.toString(2).padStart(k, "0"), n = 2 ** k;
      return { kind, k, nM: n, nW: n, W: Array.from({ length: n }, (_, w) => bits(w)), label: bits, next: (m, w) => w };
    }
    const withAction = kind === "OA";
    const base = 1 + P.nO * (withAction ? P.nA : 1), modulus = base ** (k - 1);
    const cell = (c) => {
      if (c === 0) return "\u2205";
      return withAction ? `${P.O[Math.floor((c - 1) / P.nA)]} ${P.A[(c - 1) % P.nA]}` : P.O[c - 1];
    };
    const W_ = kind === "K" ? ["push"] : ["keep", "push"];
    return {
      kind, k, nM: base ** k, nW: W_.length, W: W_,
      label: (m) => Array.from({ length: k }, (_, i) => cell(Math.floor(m / base ** (k - 1 - i)) % base)).join(" | "),
      next: (m, w, o, a) => (W_[w] === "push" ? (m % modulus) * base + 1 + (withAction ? o * P.nA + a : o) : m),
    };
  }

  /** Products of probabilities: of the nearest float where the model is exact, as the package has them; each pair once. */
  function products(P) {
    const known = new Map();
    const once = (x, y, xExact, yExact) => {
      if (!P.exact) return { number: x * y, exact: null };
      const own = `${xExact.n}/${xExact.d} ${yExact.n}/${yExact.d}`;
      if (!known.has(own)) {
        const exact = W.Fraction.times(xExact, yExact);
        known.set(own, { number: W.fractionNumber(exact), exact });
      }
      return known.get(own);
    };
    const X = P.exact || { pProb: [], oProb: [], mu: [] };
    return {
      step: (k, f) => once(P.pProb[k], P.oProb[f], X.pProb[k], X.oProb[f]),
      start: (s, e) => once(P.mu[s], P.oProb[e], X.mu[s], X.oProb[e]),
    };
  }

  /** The memory-augmented environment as a model: its reachable part, in the order in which a walk from mu meets it. */
  function augment(P, name) {
    const memory = memoryOn(P, name), { nM, nW } = memory, joint = products(P);
    const owner = new Int32Array(P.oCol.length);
    for (let s = 0; s < P.nS; s++) owner.fill(s, P.oPtr[s], P.oPtr[s + 1]);
    const codes = [], places = new Map(), mu = [];
    const find = (code) => {
      if (!places.has(code)) { places.set(code, codes.length); codes.push(code); }
      return places.get(code);
    };
    for (let s = 0; s < P.nS; s++) {
      for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) if (P.mu[s] * P.oProb[e] !== 0) mu[find(e * nM)] = joint.start(s, e);
    }
    const pPtr = [0], pNext = [], pR = [], pProb = [], xR = [], xProb = [];
    for (let i = 0; i < codes.length; i++) {
      const e = Math.floor(codes[i] / nM), m = codes[i] % nM, s = owner[e], o = P.oCol[e];
      for (let a = 0; a < P.nA; a++) {
        for (let w = 0; w < nW; w++) {
          const mNext = memory.next(m, w, o, a);
          for (let k = P.pPtr[s * P.nA + a]; k < P.pPtr[s * P.nA + a + 1]; k++) {
            for (let f = P.oPtr[P.pNext[k]]; f < P.oPtr[P.pNext[k] + 1]; f++) {
              pNext.push(find(f * nM + mNext));
              pR.push(P.pR[k]);
              const { number, exact } = joint.step(k, f);
              pProb.push(number);
              if (P.exact) { xR.push(P.exact.pR[k]); xProb.push(exact); }
            }
          }
          pPtr.push(pNext.length);
        }
      }
    }
    const nS = codes.length;
    const s = Int32Array.from(codes, (code) => owner[Math.floor(code / nM)]);
    const m = Int32Array.from(codes, (code) => code % nM);
    const o = Int32Array.from(codes, (code) => P.oCol[Math.floor(code / nM)]);
    const seen = new Map(), oCol = new Int32Array(nS), rowM = [], rowO = [];
    for (let i = 0; i < nS; i++) {
      const key = m[i] * P.nO + o[i];
      if (!seen.has(key)) { seen.set(key, rowM.length); rowM.push(m[i]); rowO.push(o[i]); }
      oCol[i] = seen.get(key);
    }
    const start = new Float64Array(nS);
    mu.forEach((x, i) => { start[i] = x.number; });
    const exact = P.exact ? {
      gamma: P.exact.gamma, pR: xR, pProb: xProb, oProb: new Array(nS).fill(W.Fraction.ONE),
      mu: Array.from({ length: nS }, (_, i) => (mu[i] ? mu[i].exact : W.Fraction.ZERO)),
    } : null;
    return withFractions({
      name: `${P.name}\u00d7${name}`, base: P, memory, s, m, o, rowM, rowO,
      nS, nO: rowM.length, nA: P.nA * nW, gamma: P.gamma, mu: start, terminal: Uint8Array.from(s, (x) => P.terminal[x]),
      pPtr: Int32Array.from(pPtr), pNext: Int32Array.from(pNext), pR: Float64Array.from(pR), pProb: Float64Array.from(pProb),
      oPtr: Int32Array.from({ length: nS + 1 }, (_, i) => i), oCol, oProb: new Float64Array(nS).fill(1),
    }, exact);
  }

  Object.assign(W, { parseNumber, decode, twoStep, memoryOn, augment });
})(Workbench);
