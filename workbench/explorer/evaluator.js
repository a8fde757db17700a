/* Exact evaluation of a memoryless policy, fixed points of TD, shortcuts: the conventions of `workbench.evaluate` and
 * `workbench.td_values` in floats. A policy is an array, pi[o |A| + a]; what is undefined is NaN.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  // Floats this close, as a share of the largest number of their table, are drawn as equal. The page has no error bounds
  // and no fractions to ask; it shows, and nothing is decided by what it shows: `improve` and `shortcuts` decide.
  const NEAR = 1e-10;
  const FAINT = 1e-16; // a term this small beside 1 is lost in the sum: what it multiplies need not be known

  /** The largest size in a table, undefined entries aside: what NEAR is a share of, whatever the unit of reward. */
  function scaleOf(table) {
    let most = 0;
    for (const x of table) if (Math.abs(x) > most) most = Math.abs(x);
    return most;
  }

  class NeverEnds extends Error {}

  // ------------------------------------------------------------------ what a policy makes of a model

  /** The places of P_pi, and for each outcome its place; kept with the model. */
  function structure(P) {
    if (P.structure) return P.structure;
    const rows = [], place = new Int32Array(P.pNext.length), R = new Float64Array(P.nS * P.nA);
    let first = 0;
    for (let s = 0; s < P.nS; s++) {
      const begin = P.pPtr[s * P.nA], end = P.pPtr[(s + 1) * P.nA];
      const row = Array.from(new Set(P.pNext.subarray(begin, end))).sort((x, y) => x - y);
      const where = new Map(row.map((column, i) => [column, first + i]));
      for (let k = begin; k < end; k++) place[k] = where.get(P.pNext[k]);
      for (let a = 0; a < P.nA; a++) {
        for (let k = P.pPtr[s * P.nA + a]; k < P.pPtr[s * P.nA + a + 1]; k++) R[s * P.nA + a] += P.pProb[k] * P.pR[k];
      }
      rows.push(row);
      first += row.length;
    }
    const pattern = W.compress(rows);
    P.structure = { pattern, place, R, symbolic: W.analyse(pattern) };
    return P.structure;
  }

  /** pi(a|s), P_pi, r_pi, and which states are visited, never end, or may not end. */
  function follow(P, pi) {
    const { pattern, place, R } = structure(P);
    const acts = new Float64Array(P.nS * P.nA), data = new Float64Array(pattern.col.length), r = new Float64Array(P.nS);
    for (let s = 0; s < P.nS; s++) {
      for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) {
        for (let a = 0; a < P.nA; a++) acts[s * P.nA + a] += P.oProb[e] * pi[P.oCol[e] * P.nA + a];
      }
      for (let a = 0; a < P.nA; a++) {
        const x = acts[s * P.nA + a];
        r[s] += x * R[s * P.nA + a];
        for (let k = P.pPtr[s * P.nA + a]; k < P.pPtr[s * P.nA + a + 1]; k++) data[place[k]] += x * P.pProb[k];
      }
    }
    const where = (mask) => Array.from(mask.keys()).filter((s) => mask[s]);
    const visited = W.reachable(pattern, data, where(P.mu), false);
    const stuck = W.reachable(pattern, data, where(P.terminal), true).map((x) => 1 - x);
    const mayNotEnd = stuck.some((x) => x) ? W.reachable(pattern, data, where(stuck), true) : stuck;
    return { pattern, data, acts, r, R, visited, stuck, mayNotEnd };
  }

  /** The states visited that belong to a set which is never left again, terminal states aside. */
  function recurrent(P, chain) {
    const mask = new Uint8Array(P.nS), known = new Uint8Array(P.nS);
    for (let s = 0; s < P.nS; s++) {
      if (known[s] || !chain.visited[s] || !chain.stuck[s]) continue;
      const after = W.reachable(chain.pattern, chain.data, [s], false);
      const before = W.reachable(chain.pattern, chain.data, [s], true);
      const closed = after.every((x, i) => !x || before[i]);
      for (let i = 0; i < P.nS; i++) if (after[i] && before[i]) { known[i] = 1; mask[i] = closed ? 1 : 0; }
    }
    return mask;
  }

  /** Expected visits of each state: undiscounted (Infinity where a policy stays for ever), or discounted. */
  function occupancy(P, chain, weights) {
    const { symbolic } = structure(P);
    if (weights === "discounted" && P.gamma !== 1) return W.factor(symbolic, chain.data, P.gamma, null).solveTransposed(P.mu);
    const endless = chain.visited.some((x, s) => x && chain.stuck[s]) ? recurrent(P, chain) : new Uint8Array(P.nS);
    const out = chain.visited.map((x, s) => (!x || endless[s] ? 1 : 0));
    const d = W.factor(symbolic, chain.data, 1, out).solveTransposed(P.mu);
    return d.map((x, s) => (endless[s] ? Infinity : x));
  }

  /** P(s|o) for each entry of omega, and which observations are reached, which of them without a P(s|o). */
  function givenObservation(P, chain, d) {
    const share = new Float64Array(P.oCol.length).fill(NaN), total = new Float64Array(P.nO);
    const reached = new Uint8Array(P.nO), unclear = new Uint8Array(P.nO);
    const entries = [];
    for (let s = 0; s < P.nS; s++) {
      if (!chain.visited[s] || P.terminal[s] || d[s] === 0) continue; // 0: discounted by 0, or too rare for a float
      for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) {
        reached[P.oCol[e]] = 1;
        if (!Number.isFinite(d[s])) unclear[P.oCol[e]] = 1;
        entries.push([e, s]);
      }
    }
    const usable = entries.filter(([e]) => !unclear[P.oCol[e]]);
    for (const [e, s] of usable) total[P.oCol[e]] += d[s] * P.oProb[e];
    const used = [];
    for (const [e, s] of usable) {
      if (total[P.oCol[e]] === 0) continue; // no P(s|o)
      share[e] = (d[s] * P.oProb[e]) / total[P.oCol[e]];
      if (share[e] !== 0) used.push({ e, s, o: P.oCol[e], share: share[e] });
    }
    const lacks = new Uint8Array(P.nO).fill(1);
    for (const { o } of used) lacks[o] = 0;
    return { used, total, reached, lacks };
  }

  // ------------------------------------------------------------------ values

  /** q(s,a) = R(s,a) + gamma sum p(s'|s,a) v(s'); NaN in terminal states and where v is undefined that follows. */
  function actionValues(P, R, v, undefinedStates) {
    const q = new Float64Array(P.nS * P.nA);
    for (let row = 0; row < q.length; row++) {
      let total = 0, known = !P.terminal[Math.floor(row / P.nA)];
      for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) {
        total += P.pProb[k] * v[P.pNext[k]];
        if (undefinedStates[P.pNext[k]] && P.gamma !== 0) known = false;
      }
      q[row] = known ? R[row] + P.gamma * total : NaN;
    }
    return q;
  }

  /** q(o,a) = sum_s P(s|o) q(s,a); NaN on observations without P(s|o). */
  function observationValues(P, used, lacks, qState) {
    const q = new Float64Array(P.nO * P.nA);
    for (let o = 0; o < P.nO; o++) if (lacks[o]) q.fill(NaN, o * P.nA, (o + 1) * P.nA);
    for (const { s, o, share } of used) for (let a = 0; a < P.nA; a++) q[o * P.nA + a] += share * qState[s * P.nA + a];
    return q;
  }

  /** v(o) = sum_a pi(a|o) q(o,a) over the actions that pi takes. */
  function mixed(P, pi, q) {
    const v = new Float64Array(P.nO);
    for (let o = 0; o < P.nO; o++) {
      for (let a = 0; a < P.nA; a++) if (pi[o * P.nA + a] !== 0) v[o] += pi[o * P.nA + a] * q[o * P.nA + a];
    }
    return v;
  }

  /** What a policy is worth: value, v[s], q[o,a], v(o), visits, reached. Throws NeverEnds where gamma is 1 and it may not end. */
  function evaluate(P, pi, weights = "visits") {
    const chain = follow(P, pi);
    let undefinedStates = new Uint8Array(P.nS);
    if (P.gamma === 1 && chain.mayNotEnd.some((x) => x)) {
      const lost = chain.visited.findIndex((x, s) => x && chain.stuck[s]);
      if (lost >= 0) throw new NeverEnds("gamma is 1 and this policy may go on for ever, so its return is not defined");
      undefinedStates = chain.mayNotEnd;
    }
    const r = chain.r.map((x, s) => (undefinedStates[s] ? 0 : x));
    const v = W.factor(structure(P).symbolic, chain.data, P.gamma, undefinedStates).solve(r);
    const visits = occupancy(P, chain, weights);
    const seen = givenObservation(P, chain, visits);
    const q = observationValues(P, seen.used, seen.lacks, actionValues(P, chain.R, v, undefinedStates));
    let value = 0;
    for (let s = 0; s < P.nS; s++) if (P.mu[s] !== 0) value += P.mu[s] * v[s];
    return {
      value, v: v.map((x, s) => (undefinedStates[s] ? NaN : x)), q, vGivenO: mixed(P, pi, q), visits,
      reached: seen.reached, chain, seen,
    };
  }

  // ------------------------------------------------------------------ TD

  /** The places of the system over states and observations that TD(lambda) solves; kept with the model. */
  function tdStructure(P) {
    if (P.tdStructure) return P.tdStructure;
    const { pattern } = structure(P);
    const rows = [];
    const begin = Array.from({ length: P.nO }, () => new Set());
    for (let s = 0; s < P.nS; s++) {
      const next = Array.from(pattern.col.subarray(pattern.ptr[s], pattern.ptr[s + 1]));
      const seen = P.terminal[s] ? [] : Array.from(P.oCol.subarray(P.oPtr[s], P.oPtr[s + 1]));
      for (const o of seen) next.forEach((column) => begin[o].add(column));
      rows.push([...next, ...seen.map((o) => P.nS + o)]);
    }
    begin.forEach((columns) => rows.push(Array.from(columns)));
    const joint = W.compress(rows);
    const where = begin.map((_, o) => {
      const found = new Map();
      for (let t = joint.ptr[P.nS + o]; t < joint.ptr[P.nS + o + 1]; t++) found.set(joint.col[t], t);
      return found;
    });
    P.tdStructure = { pattern: joint, where, symbolic: W.analyse(joint) };
    return P.tdStructure;
  }

  /** The fixed point of TD(lambda) on observations: q[o,a] and v(o). `evaluated` is evaluate(P, pi, weights). */
  function td(P, pi, lambda, evaluated) {
    if (lambda === 1) return { q: evaluated.q, v: evaluated.vGivenO };
    const { chain, seen } = evaluated;
    const { pattern, where, symbolic } = tdStructure(P);
    const n = P.nS + P.nO, data = new Float64Array(pattern.col.length), b = new Float64Array(n);
    for (let s = 0; s < P.nS; s++) {
      const from = chain.pattern.ptr[s], count = chain.pattern.ptr[s + 1] - from, first = pattern.ptr[s];
      for (let t = 0; t < count; t++) data[first + t] = lambda * P.gamma * chain.data[from + t];
      if (!P.terminal[s]) {
        for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) data[first + count + e - P.oPtr[s]] = (1 - lambda) * P.oProb[e];
      }
      b[s] = lambda * chain.r[s];
    }
    for (const { s, o, share } of seen.used) {
      for (let a = 0; a < P.nA; a++) {
        const x = share * pi[o * P.nA + a], row = s * P.nA + a;
        if (x === 0) continue;
        b[P.nS + o] += x * chain.R[row];
        for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) data[where[o].get(P.pNext[k])] += x * P.pProb[k] * P.gamma;
      }
    }
    const places = Array.from({ length: n }, (_, i) => i);
    // What is undefined makes undefined whatever leads to it, unless it leads there so rarely that it makes no difference.
    const felt = data.map((x) => (x < FAINT ? 0 : x));
    const lacks = W.reachable(pattern, felt, places.filter((i) => i >= P.nS && seen.lacks[i - P.nS]), true);
    if (P.gamma === 1) {
      const ends = W.reachable(pattern, data, places.filter((i) => i < P.nS && P.terminal[i]), true);
      if (places.some((i) => !ends[i] && !lacks[i])) throw new NeverEnds("gamma is 1 and the TD values are not determined");
    }
    const x = W.factor(symbolic, data, 1, lacks).solve(b.map((y, i) => (lacks[i] ? 0 : y)));
    const qState = actionValues(P, chain.R, x.subarray(0, P.nS), lacks.subarray(0, P.nS));
    return {
      q: observationValues(P, seen.used, seen.lacks, qState),
      v: x.slice(P.nS).map((y, o) => (lacks[P.nS + o] ? NaN : y)), lacks,
    };
  }

  /** The sign of x - y, 0 if they are close beside a scale. */
  function compare(x, y, scale) {
    return Math.abs(x - y) <= NEAR * scale ? 0 : x > y ? 1 : -1;
  }

  /** For each pair o |A| + a: 2 if it is a strict non-Markovian shortcut of pi, 1 if a weak one, else 0 (Section 5.1). */
  function shortcuts(P, pi, evaluated, oneStep) {
    const found = new Uint8Array(P.nO * P.nA);
    const scale = Math.max(scaleOf(evaluated.q), scaleOf(oneStep.q));
    for (let i = 0; i < found.length; i++) {
      const o = Math.floor(i / P.nA);
      const values = [evaluated.q[i], oneStep.q[i], evaluated.vGivenO[o], oneStep.v[o]];
      if (pi[i] > 0 || !evaluated.reached[o] || values.some(Number.isNaN)) continue;
      const looks = compare(values[1], values[3], scale), truly = compare(values[0], values[2], scale);
      found[i] = looks > 0 && truly <= 0 ? 2 : looks === 0 && truly < 0 ? 1 : 0;
    }
    return found;
  }

  Object.assign(W, { NEAR, NeverEnds, evaluate, td, shortcuts, compare, scaleOf });
})(Workbench);
