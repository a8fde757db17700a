/* Values of a policy in fractions: `workbench.evaluate(..., exact=True)` and the TD fixed points, for small tasks.
 *
 * A model knows its numbers as fractions where it was written in them (P.exact); a policy is an array of fractions.
 * What is undefined is null.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const { ZERO, ONE, add, subtract, times, divide } = W.Fraction;
  const MOST_EXACT = 80; // states: beyond, elimination in fractions takes too long for a page

  /** Why a model is not evaluated in fractions; empty if it is. */
  function whyNotExact(P) {
    if (!P.exact) return "this task is written in floats";
    return P.nS > MOST_EXACT ? `it has ${P.nS} states, and fractions are for at most ${MOST_EXACT}` : "";
  }

  /** q(o,a), v, value in fractions. `like` is the float evaluation, which knows what is reached, undefined, or never ends. */
  function evaluateExactly(P, pi, like, weights = "visits") {
    const X = P.exact, { chain, seen } = like;
    const K = Array.from({ length: P.nS }, () => new Map()), r = new Array(P.nS).fill(ZERO), R = new Array(P.nS * P.nA).fill(ZERO);
    for (let s = 0; s < P.nS; s++) {
      for (let a = 0; a < P.nA; a++) {
        const row = s * P.nA + a;
        let share = ZERO;
        for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) share = add(share, times(X.oProb[e], pi[P.oCol[e] * P.nA + a]));
        for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) {
          R[row] = add(R[row], times(X.pProb[k], X.pR[k]));
          if (share.n !== 0n) K[s].set(P.pNext[k], add(K[s].get(P.pNext[k]) || ZERO, times(share, X.pProb[k])));
        }
        r[s] = add(r[s], times(share, R[row]));
      }
    }
    const undefinedStates = Array.from(like.v, Number.isNaN);
    const scaled = (row, factor) => new Map(Array.from(row, ([j, x]) => [j, times(factor, x)]));
    const v = W.solveExactly(K.map((row, s) => (undefinedStates[s] ? new Map() : scaled(row, X.gamma))), r.map((x, s) => (undefinedStates[s] ? ZERO : x)));
    const d = visits(P, K, like, weights);
    const total = new Array(P.nO).fill(ZERO);
    for (const { e, s, o } of seen.used) total[o] = add(total[o], times(d[s], X.oProb[e]));
    const used = seen.used.map(({ e, s, o }) => ({ s, o, share: divide(times(d[s], X.oProb[e]), total[o]) }));
    const q = observationValues(P, used, seen.lacks, actionValues(P, R, v, undefinedStates));
    let value = ZERO;
    for (let s = 0; s < P.nS; s++) if (X.mu[s].n !== 0n) value = add(value, times(X.mu[s], v[s]));
    return { value, v, q, used, K, r, R, undefinedStates, chain, seen };
  }

  function visits(P, K, like, weights) {
    const factor = weights === "discounted" ? P.exact.gamma : ONE;
    const counted = (s) => like.chain.visited[s] && Number.isFinite(like.visits[s]);
    const back = Array.from({ length: P.nS }, () => new Map());
    K.forEach((row, s) => { if (counted(s)) row.forEach((x, t) => back[t].set(s, times(factor, x))); });
    return W.solveExactly(back, P.exact.mu);
  }

  function actionValues(P, R, v, undefinedStates) {
    const X = P.exact;
    return R.map((reward, row) => {
      if (P.terminal[Math.floor(row / P.nA)]) return null;
      let total = ZERO;
      for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) {
        if (undefinedStates[P.pNext[k]] && X.gamma.n !== 0n) return null;
        total = add(total, times(X.pProb[k], v[P.pNext[k]]));
      }
      return add(reward, times(X.gamma, total));
    });
  }

  function observationValues(P, used, lacks, qState) {
    const q = new Array(P.nO * P.nA).fill(ZERO);
    for (let i = 0; i < q.length; i++) if (lacks[Math.floor(i / P.nA)]) q[i] = null;
    for (const { s, o, share } of used) {
      for (let a = 0; a < P.nA; a++) {
        const i = o * P.nA + a, x = qState[s * P.nA + a];
        q[i] = q[i] === null || x === null ? null : add(q[i], times(share, x));
      }
    }
    return q;
  }

  /** The fixed point of TD(lambda), lambda a fraction below 1; `like` is the float one, which knows what is undefined. */
  function tdExactly(P, pi, lambda, evaluated, like) {
    const X = P.exact, { used, K, r, R, seen } = evaluated, n = P.nS + P.nO, rest = subtract(ONE, lambda);
    const rows = Array.from({ length: n }, () => new Map()), b = new Array(n).fill(ZERO);
    const put = (i, j, x) => rows[i].set(j, add(rows[i].get(j) || ZERO, x));
    for (let s = 0; s < P.nS; s++) {
      K[s].forEach((x, t) => put(s, t, times(times(lambda, X.gamma), x)));
      if (!P.terminal[s]) for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) put(s, P.nS + P.oCol[e], times(rest, X.oProb[e]));
      b[s] = times(lambda, r[s]);
    }
    for (const { s, o, share } of used) {
      for (let a = 0; a < P.nA; a++) {
        const x = times(share, pi[o * P.nA + a]), row = s * P.nA + a;
        if (x.n === 0n) continue;
        b[P.nS + o] = add(b[P.nS + o], times(x, R[row]));
        for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) put(P.nS + o, P.pNext[k], times(times(x, X.pProb[k]), X.gamma));
      }
    }
    const lacks = like.lacks;
    const x = W.solveExactly(rows.map((row, i) => (lacks[i] ? new Map() : row)), b.map((y, i) => (lacks[i] ? ZERO : y)));
    const undefinedStates = Array.from(lacks.subarray(0, P.nS), Boolean);
    return observationValues(P, used, seen.lacks, actionValues(P, R, x.slice(0, P.nS), undefinedStates));
  }

  /** The loop's policy after some greedy policies, in fractions: pi' = (1 - step) pi + step greedy. */
  function exactIterate(P, start, greedys, step) {
    let pi = start;
    const rest = subtract(ONE, step);
    for (const greedy of greedys) {
      pi = pi.map((x, i) => {
        const o = Math.floor(i / P.nA);
        return greedy[o] < 0 ? x : add(times(rest, x), greedy[o] === i % P.nA ? step : ZERO);
      });
    }
    return pi;
  }

  Object.assign(W, { MOST_EXACT, whyNotExact, evaluateExactly, tdExactly, exactIterate });
})(Workbench);
