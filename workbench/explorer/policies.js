/* Policies: uniform, greedy with ties, the oracle loop's step (Section 5.2), the best deterministic one, sampled episodes. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  /** pi(a|o) = 1/|A|. */
  function uniform(P) {
    return new Float64Array(P.nO * P.nA).fill(1 / P.nA);
  }

  /** Actions in the order in which greedy prefers them among equals: the higher write, then the lower action. */
  function tieOrder(P) {
    const nW = P.memory ? P.memory.nW : 1, order = [];
    for (let w = nW - 1; w >= 0; w--) for (let a = 0; a < P.nA / nW; a++) order.push(a * nW + w);
    return order;
  }

  /** For each observation the greedy action on q, or -1 where q is undefined. */
  function greedyActions(P, q) {
    const order = tieOrder(P), chosen = new Int32Array(P.nO).fill(-1), close = W.NEAR * W.scaleOf(q);
    for (let o = 0; o < P.nO; o++) {
      let best = -Infinity;
      for (let a = 0; a < P.nA; a++) if (q[o * P.nA + a] > best) best = q[o * P.nA + a];
      if (best === -Infinity) continue;
      chosen[o] = order.find((a) => q[o * P.nA + a] >= best - close);
    }
    return chosen;
  }

  /** (1 - step) pi + step greedy; rows without a greedy action stay. */
  function toward(P, pi, chosen, step) {
    const moved = Float64Array.from(pi);
    for (let o = 0; o < P.nO; o++) {
      if (chosen[o] < 0) continue;
      for (let a = 0; a < P.nA; a++) moved[o * P.nA + a] = (1 - step) * pi[o * P.nA + a] + step * (a === chosen[o] ? 1 : 0);
    }
    return moved;
  }

  /** The best deterministic memoryless policy, by looking at all of them, rows that are not reached aside.
   *
   * Returns {value, choice, decided: true} with choice[o] = -1 on rows that it does not reach, or null if that is too much work:
   * more than `most` policies where each is a single path, fewer where each takes a linear system.
   */
  function bestDeterministic(P, most = 20000) {
    const choice = new Int32Array(P.nO).fill(-1);
    let best = null, work = 0;
    const starts = Array.from(P.mu.keys()).filter((s) => P.mu[s] !== 0);

    /** An observation that is reached and has no action yet, or -1. */
    function open() {
      const seen = new Uint8Array(P.nS), queue = starts.slice();
      starts.forEach((s) => { seen[s] = 1; });
      for (let at = 0; at < queue.length; at++) {
        const s = queue[at];
        if (P.terminal[s]) continue;
        for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) {
          const o = P.oCol[e];
          if (choice[o] < 0) return o;
          const row = s * P.nA + choice[o];
          for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) if (!seen[P.pNext[k]]) { seen[P.pNext[k]] = 1; queue.push(P.pNext[k]); }
        }
      }
      return -1;
    }

    function search() {
      const o = open();
      if (o < 0) {
        const path = singlePath(P, choice), x = path === null ? valueOf(P, choice) : path;
        work += path === null ? Math.max(1, P.nS / 2) : 1;
        if (best === null || x > best.value + W.NEAR * Math.abs(x)) best = { value: x, choice: Int32Array.from(choice), decided: true };
        return work <= most;
      }
      for (let a = 0; a < P.nA; a++) {
        choice[o] = a;
        if (!search()) { choice[o] = -1; return false; }
      }
      choice[o] = -1;
      return true;
    }
    return search() ? best : null;
  }

  /** What a choice of actions is worth; -Infinity if its return is not defined. */
  function valueOf(P, choice) {
    const pi = new Float64Array(P.nO * P.nA);
    for (let o = 0; o < P.nO; o++) pi[o * P.nA + Math.max(choice[o], 0)] = 1;
    try {
      return W.evaluate(P, pi, "visits").value;
    } catch (error) {
      if (error instanceof W.NeverEnds) return -Infinity;
      throw error;
    }
  }

  /** A good deterministic policy where there are too many to try: the best after changing one row at a time, from several starts.
   * What it is worth is a lower bound on the best one: {value, choice, decided: false}. */
  function goodDeterministic(P, most) {
    const draw = randomFrom(1);
    let best = null, work = 0;
    while (work < most) {
      const choice = Int32Array.from({ length: P.nO }, () => Math.floor(draw() * P.nA));
      let value = valueOf(P, choice), better = true;
      while (better && work < most) {
        better = false;
        for (let o = 0; o < P.nO && work < most; o++) {
          for (let a = 0, had = choice[o]; a < P.nA; a++, work += Math.max(1, P.nS / 2)) {
            choice[o] = a;
            const x = valueOf(P, choice);
            if (x > value + W.NEAR * Math.abs(x)) { value = x; had = a; better = true; }
            choice[o] = had;
          }
        }
      }
      if (best === null || value > best.value) best = { value, choice: Int32Array.from(choice), decided: false };
    }
    return best;
  }

  /** The return of a choice of actions if nothing is left to chance and the episode ends, else null. */
  function singlePath(P, choice) {
    let s = P.mu.indexOf(1), total = 0, discount = 1;
    for (let t = 0; s >= 0 && t <= P.nS; t++) {
      if (P.terminal[s]) return total;
      const row = s * P.nA + choice[P.oCol[P.oPtr[s]]];
      if (P.oPtr[s + 1] - P.oPtr[s] !== 1 || P.pPtr[row + 1] - P.pPtr[row] !== 1) return null;
      total += discount * P.pR[P.pPtr[row]];
      discount *= P.gamma;
      s = P.pNext[P.pPtr[row]];
    }
    return null;
  }

  /** Numbers in [0, 1) from a seed (mulberry32). */
  function randomFrom(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let x = state;
      x = Math.imul(x ^ (x >>> 15), x | 1);
      x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
      return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
    };
  }

  /** A sampled episode: steps {s, o, a, r, next} in places, and whether it ended within `most` steps. */
  function sample(P, pi, seed, most = 200) {
    const draw = randomFrom(seed);
    const pick = (from, to, weight) => {
      let x = draw(), last = -1;
      for (let i = from; i < to; i++) {
        if (weight(i) === 0) continue;
        last = i;
        x -= weight(i);
        if (x < 0) break;
      }
      return last;
    };
    let s = pick(0, P.nS, (i) => P.mu[i]);
    const first = s, steps = [];
    while (!P.terminal[s] && steps.length < most) {
      const o = P.oCol[pick(P.oPtr[s], P.oPtr[s + 1], (e) => P.oProb[e])];
      const a = pick(0, P.nA, (i) => pi[o * P.nA + i]);
      const row = s * P.nA + a, k = pick(P.pPtr[row], P.pPtr[row + 1], (i) => P.pProb[i]);
      steps.push({ s, o, a, r: P.pR[k], next: P.pNext[k] });
      s = P.pNext[k];
    }
    return { first, steps, ended: P.terminal[s] === 1 };
  }

  Object.assign(W, { uniform, tieOrder, greedyActions, toward, bestDeterministic, goodDeterministic, sample });
})(Workbench);
