/* Further questions to a model: where learning can settle, what is believed along an episode, how the loop flows on a slice. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const MOST_GREEDY = 25000;

  /** The rows on which something is decided. */
  function decidingRows(P) {
    const seen = new Uint8Array(P.nO);
    for (let s = 0; s < P.nS; s++) if (!P.terminal[s]) for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) seen[P.oCol[e]] = 1;
    return Array.from(seen.keys()).filter((o) => seen[o]);
  }

  /** The fixed points of Q-learning or Sarsa(lambda) with a constant epsilon: every greedy policy is looked at.
   *
   * Q-learning's table for a greedy policy g is one-step TD's with the weights of the epsilon-greedy behaviour and v(o) = q(o, g(o)).
   * Returns {fixed: [{actions, q, value, strict}], policies}; throws if there are too many or an episode may never end.
   */
  function settling(P, learner, epsilon, lambda = 0) {
    const rows = decidingRows(P), count = P.nA ** rows.length;
    if (count > MOST_GREEDY) throw new RangeError(`${count > 1e15 ? "more than 10^15" : count.toLocaleString("en")} greedy policies: the page looks at no more than ${MOST_GREEDY.toLocaleString("en")}`);
    const fixed = [], choice = new Int32Array(P.nO);
    for (let code = 0; code < count; code++) {
      for (let i = rows.length - 1, rest = code; i >= 0; i--) { choice[rows[i]] = rest % P.nA; rest = Math.floor(rest / P.nA); }
      const found = looked(P, rows, choice, learner, epsilon, lambda);
      if (found) fixed.push(found);
    }
    return { fixed, policies: count };
  }

  /** The table that a greedy policy leads to, while the behaviour stays epsilon-greedy on it. */
  function learnedTable(P, choice, learner, epsilon, lambda) {
    const g = new Float64Array(P.nO * P.nA), b = new Float64Array(P.nO * P.nA).fill(epsilon / P.nA);
    choice.forEach((a, o) => { g[o * P.nA + a] = 1; b[o * P.nA + a] += 1 - epsilon; });
    const under = W.evaluate(P, b, "visits");
    return learner === "sarsa" ? W.td(P, b, lambda, under).q : W.td(P, g, 0, under).q;
  }

  function looked(P, rows, choice, learner, epsilon, lambda) {
    const q = learnedTable(P, choice, learner, epsilon, lambda), strict = isGreedyOn(P, rows, choice, q);
    return strict === null ? null : { actions: Int32Array.from(choice), q, value: W.greedyValue(P, choice), strict };
  }

  /** Whether a policy is strictly greedy on a table (true), with ties (false), or not greedy (null). */
  function isGreedyOn(P, rows, choice, q) {
    let strict = true;
    const near = 1e-9 * Math.max(1, ...Array.from(q, (x) => (Number.isNaN(x) ? 0 : Math.abs(x))));
    for (const o of rows) {
      for (let a = 0; a < P.nA; a++) {
        if (a === choice[o] || Number.isNaN(q[o * P.nA + a])) continue;
        const over = q[o * P.nA + a] - q[o * P.nA + choice[o]];
        if (over > near) return null;
        if (over >= -near) strict = false;
      }
    }
    return strict;
  }

  /** b(s) of the task (not of the product) at each time of an episode, given what was seen and done and that it goes on. */
  function beliefsAlong(P, seen, done) {
    const scaled = (b) => {
      const total = b.reduce((x, y) => x + y, 0);
      return b.map((x) => x / total);
    };
    const shows = (b, o) => scaled(b.map((x, s) => {
      let y = 0;
      for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) if (P.oCol[e] === o) y += P.oProb[e];
      return x * y;
    }));
    const beliefs = [shows(P.mu.map((x, s) => (P.terminal[s] ? 0 : x)), seen[0])];
    for (let t = 1; t < seen.length; t++) {
      const moved = new Float64Array(P.nS), b = beliefs[t - 1];
      b.forEach((x, s) => {
        const row = s * P.nA + done[t - 1];
        for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) if (!P.terminal[P.pNext[k]]) moved[P.pNext[k]] += x * P.pProb[k];
      });
      beliefs.push(shows(moved, seen[t]));
    }
    return beliefs;
  }

  /** A policy of a slice: pi(a1|o1) = x, pi(a2|o2) = y, the other actions of these rows in the proportions of the base policy. */
  function onSlice(P, base, [o1, a1], [o2, a2], x, y) {
    const pi = Float64Array.from(base), set = (o, given) => {
      const fixed = given.reduce((sum, [, z]) => sum + z, 0), chosen = given.map(([a]) => a);
      let rest = 0;
      for (let a = 0; a < P.nA; a++) if (!chosen.includes(a)) rest += base[o * P.nA + a];
      for (let a = 0; a < P.nA; a++) {
        const at = chosen.indexOf(a), others = P.nA - chosen.length;
        pi[o * P.nA + a] = at >= 0 ? given[at][1] : (1 - fixed) * (rest > 0 ? base[o * P.nA + a] / rest : 1 / others);
      }
    };
    if (o1 === o2) set(o1, [[a1, x], [a2, y]]);
    else { set(o1, [[a1, x]]); set(o2, [[a2, y]]); }
    return pi;
  }

  /** The flow of the loop at the points x, y of a slice that `at` lists: [{x, y, dx, dy, value}], NaN where a policy never ends. */
  function sliceFlow(P, base, first, second, at, weights) {
    const found = [];
    for (const x of at) {
      for (const y of at) {
        if (first[0] === second[0] && x + y > 1 + 1e-12) continue;
        const pi = onSlice(P, base, first, second, x, y);
        let dx = NaN, dy = NaN, value = NaN;
        try {
          const e = W.evaluate(P, pi, weights), greedy = W.greedyActions(P, e.q);
          value = e.value;
          if (greedy[first[0]] >= 0) dx = Number(greedy[first[0]] === first[1]) - x;
          if (greedy[second[0]] >= 0) dy = Number(greedy[second[0]] === second[1]) - y;
        } catch (error) {
          if (!(error instanceof W.NeverEnds)) throw error;
        }
        found.push({ x, y, dx, dy, value });
      }
    }
    return found;
  }

  Object.assign(W, { MOST_GREEDY, decidingRows, settling, learnedTable, isGreedyOn, beliefsAlong, onSlice, sliceFlow });
})(Workbench);
