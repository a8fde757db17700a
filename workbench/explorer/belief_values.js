/* Acting by belief: bounds on the value of the best policy of the whole history, where at most two states look alike.
 *
 * A belief is then an observation o and the probability x of the second of its states. From below, the value is the largest of
 * linear functions (alpha vectors), one for each point of a list, each the value of a policy; from above, it is a line between
 * the points. A round of backups at all points brings both closer. Both hold after any number of rounds.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const GRID = 48, MOST_REACHED = 40, NEAR = 1e-9;

  /** The states that show each observation and are not terminal. */
  function statesBehind(P) {
    const behind = Array.from({ length: P.nO }, () => []);
    for (let s = 0; s < P.nS; s++) {
      if (P.terminal[s]) continue;
      for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) if (P.oProb[e] > 0) behind[P.oCol[e]].push(s);
    }
    return behind;
  }

  class BeliefValues {
    /** Throws a RangeError, in words, for a task that this cannot be done for. */
    constructor(P) {
      this.P = P;
      this.behind = statesBehind(P);
      const most = Math.max(...this.behind.map((states) => states.length));
      if (most > 2) throw new RangeError(`up to ${most} states look alike; the picture needs a task where at most two do`);
      this.moves = this.behind.map((states) => states.map((s) => Array.from({ length: P.nA }, (_, a) => this.leads(s, a))));
      this.points = this.behind.map((states) => (states.length < 2 ? states.map(() => 0) : Array.from({ length: GRID + 1 }, (_, i) => i / GRID)));
      this.starts = this.firstBeliefs();
      this.reach();
      const low = W.evaluate(P, W.uniform(P), "discounted").v, high = informed(P);
      this.alphas = this.behind.map((states) => [[states.map((s) => low[s]), -1]]);
      this.first = this.alphas.map(([one]) => one); // the uniform policy's values stay in the list
      this.best = this.points.map((points, o) => points.map(() => this.first[o]));
      this.upper = this.points.map((points, o) => points.map((x) => mean(x, this.behind[o].map((s) => high[s]))));
      this.rounds = 0;
    }

    /** The mean reward of an action in a state, and [o', place of s' behind o', probability] for what may follow. */
    leads(s, a) {
      const { P } = this, row = s * P.nA + a, next = new Map();
      let r = 0;
      for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) {
        const t = P.pNext[k];
        r += P.pProb[k] * P.pR[k];
        if (P.terminal[t]) continue;
        for (let e = P.oPtr[t]; e < P.oPtr[t + 1]; e++) {
          const o = P.oCol[e], key = 2 * o + this.behind[o].indexOf(t), p = P.pProb[k] * P.oProb[e];
          if (p > 0) next.set(key, (next.get(key) || 0) + p);
        }
      }
      return { r, next: Array.from(next, ([key, p]) => [key >> 1, key & 1, p]) };
    }

    firstBeliefs() {
      const { P } = this, found = [];
      this.behind.forEach((states, o) => {
        const weights = states.map((s) => { let x = 0; for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) if (P.oCol[e] === o) x += P.mu[s] * P.oProb[e]; return x; });
        const total = weights.reduce((x, y) => x + y, 0);
        if (total > 0) found.push({ o, x: (weights[1] || 0) / total, p: total });
      });
      return found;
    }

    /** The reward of an action at a belief, and what it leads to: [o', x', probability]. */
    after(o, x, a) {
      const joint = new Map(), weights = this.behind[o].length < 2 ? [1] : [1 - x, x];
      let r = 0;
      weights.forEach((w, i) => {
        if (!(w > 0)) return;
        const { r: paid, next } = this.moves[o][i][a];
        r += w * paid;
        for (const [to, j, p] of next) {
          if (!joint.has(to)) joint.set(to, [0, 0]);
          joint.get(to)[j] += w * p;
        }
      });
      return { r, next: Array.from(joint, ([to, [u, v]]) => [to, v / (u + v), u + v]) };
    }

    /** Beliefs that histories lead to become points, the nearest ones first. */
    reach() {
      const queue = this.starts.map(({ o, x }) => [o, x]), added = this.points.map(() => 0);
      for (let i = 0; i < queue.length && i < 4000; i++) {
        const [o, x] = queue[i], points = this.points[o];
        if (i >= this.starts.length && points.some((y) => Math.abs(x - y) < NEAR)) continue;
        if (added[o] >= MOST_REACHED) continue;
        if (!points.some((y) => Math.abs(x - y) < NEAR)) { points.push(x); added[o] += 1; }
        for (let a = 0; a < this.P.nA; a++) for (const [to, y] of this.after(o, x, a).next) queue.push([to, y]);
      }
      this.points.forEach((points) => points.sort((x, y) => x - y));
    }

    bestAlpha(o, x) {
      let found = null, most = -Infinity;
      for (const one of this.alphas[o]) { const v = mean(x, one[0]); if (v > most) { most = v; found = one; } }
      return found;
    }

    lowerAt(o, x) { return mean(x, this.bestAlpha(o, x)[0]); }

    upperAt(o, x) {
      const points = this.points[o], values = this.upper[o];
      let i = 1;
      while (i < points.length - 1 && points[i] < x) i += 1;
      if (points.length === 1) return values[0];
      const share = (x - points[i - 1]) / (points[i] - points[i - 1]);
      return (1 - share) * values[i - 1] + share * values[i];
    }

    /** The value of each action at a belief, by the bounds from below and from above, and the alpha vector of each. */
    actions(o, x) {
      const { P } = this;
      return Array.from({ length: P.nA }, (_, a) => {
        const { r, next } = this.after(o, x, a), chosen = new Map(next.map(([to, y]) => [to, this.bestAlpha(to, y)[0]]));
        const alpha = this.moves[o].map((moves) => moves[a].next.reduce((sum, [to, j, p]) => sum + P.gamma * p * (chosen.get(to) || this.alphas[to][0][0])[j], moves[a].r));
        return { alpha, lower: mean(x, alpha), upper: next.reduce((sum, [to, y, p]) => sum + P.gamma * p * this.upperAt(to, y), r) };
      });
    }

    /** One round of backups at all points. */
    round() {
      this.points.forEach((points, o) => points.forEach((x, i) => {
        const found = this.actions(o, x);
        let a = 0;
        found.forEach(({ lower }, b) => { if (lower > found[a].lower + NEAR * Math.abs(found[a].lower)) a = b; });
        if (this.best[o][i][1] < 0 || found[a].lower > mean(x, this.best[o][i][0])) this.best[o][i] = [found[a].alpha, a];
        this.upper[o][i] = Math.min(this.upper[o][i], Math.max(...found.map(({ upper }) => upper)));
      }));
      this.alphas = this.best.map((best, o) => [...new Set(best), this.first[o]]);
      this.rounds += 1;
    }

    get bounds() {
      const sum = (at) => this.starts.reduce((total, { o, x, p }) => total + p * at(o, x), 0);
      return [sum((o, x) => this.lowerAt(o, x)), sum((o, x) => this.upperAt(o, x))];
    }

    /** The largest difference of the bounds at a point of the list. */
    get widest() {
      return Math.max(...this.points.flatMap((points, o) => points.map((x, i) => this.upper[o][i] - this.lowerAt(o, x))));
    }

    /** Where which action is best, from x = 0 to x = 1: [{from, to, a}]. */
    regions(o, n = 400) {
      const found = [];
      for (let i = 0; i <= n; i++) {
        const values = this.actions(o, i / n);
        let a = 0;
        values.forEach(({ lower }, b) => { if (lower > values[a].lower + NEAR * Math.max(1, Math.abs(values[a].lower))) a = b; });
        const last = found.at(-1);
        if (last && last.a === a) last.to = i / n;
        else { if (last) last.to = (i - 0.5) / n; found.push({ from: i ? (i - 0.5) / n : 0, to: i / n, a }); }
      }
      return found;
    }
  }

  const mean = (x, [u, v]) => (v === undefined ? u : (1 - x) * u + x * v);

  /** What each state is worth to somebody who sees it, or more. */
  function informed(P) {
    const largest = P.pR.reduce((x, y) => Math.max(x, y), 0);
    let v = Float64Array.from(P.terminal, (end) => (end ? 0 : P.gamma < 1 ? largest / (1 - P.gamma) : 0));
    const better = () => v.map((_, s) => {
      if (P.terminal[s]) return 0;
      let most = -Infinity;
      for (let a = 0; a < P.nA; a++) {
        let q = 0;
        for (let k = P.pPtr[s * P.nA + a]; k < P.pPtr[s * P.nA + a + 1]; k++) q += P.pProb[k] * (P.pR[k] + P.gamma * v[P.pNext[k]]);
        most = Math.max(most, q);
      }
      return most;
    });
    for (let i = 0; i < (P.gamma < 1 ? 5000 : P.nS + 1); i++) {
      const next = better();
      if (next.every((x, s) => x === v[s])) return v;
      v = next;
    }
    if (P.gamma < 1) return v;
    throw new RangeError("the picture needs a discount below 1, or episodes that are over after a number of steps");
  }

  Object.assign(W, { BeliefValues, statesBehind });
})(Workbench);
