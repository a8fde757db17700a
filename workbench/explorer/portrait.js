/* A plane through the tables of a learner, as workbench.equilibrium.phase_plane has it: two entries of q vary, the others stay.
 *
 *   dq(o,a)/dt = d_b(o) b(a|o) [ T_b q (o,a) - q(o,a) ],   b = epsilon-greedy on q, ties to the first action
 *
 * with d_b(o) the share of steps in o. Inside the cell of one greedy policy g this is affine in q, and T_b q (o,a) is a number
 * plus a sum over rows of v(o') = q(o', g(o')) for Q-learning, sum_a b(a|o') q(o',a) for Sarsa(lambda).
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  /** The same model with another discount. */
  const withGamma = (P, gamma) => (gamma === P.gamma ? P : Object.create(P, { gamma: { value: gamma, enumerable: true } }));

  /** The first best action of each row of a table. */
  function firstBest(P, q) {
    const g = new Int32Array(P.nO);
    for (let o = 0; o < P.nO; o++) for (let a = 1; a < P.nA; a++) if (q[o * P.nA + a] > q[o * P.nA + g[o]]) g[o] = a;
    return g;
  }

  /** The fields of the cells that were met so far, for two entries (o, a). */
  class CellFields {
    constructor(P, { kind, epsilon, lambda }, entries) {
      const endless = Array.from(P.terminal).every((x) => !x);
      if (kind !== "qlearning" && kind !== "sarsa") throw new RangeError("an actor-critic has no greedy policies: choose Q-learning or Sarsa");
      if (!(epsilon > 0)) throw new RangeError("with ε = 0 actions that are not greedy are never updated");
      if (endless) throw new RangeError("nothing ends in this task, and the mean field is that of tasks whose episodes end");
      Object.assign(this, { P, kind, epsilon, lambda: kind === "sarsa" ? lambda : 0, entries, rows: W.decidingRows(P), known: new Map() });
    }

    /** For each entry {rate, alone, to: [[o', weight]]}: T_b q = alone + sum weight v(o'). */
    of(g) {
      const key = g.join();
      if (!this.known.has(key)) {
        if (this.known.size > 500) this.known.clear(); // a long run meets many cells
        this.known.set(key, this.made(g));
      }
      return this.known.get(key);
    }

    made(g) {
      const { P, epsilon, lambda } = this, b = new Float64Array(P.nO * P.nA).fill(epsilon / P.nA);
      g.forEach((a, o) => { b[o * P.nA + a] += 1 - epsilon; });
      const { chain, seen } = W.evaluate(P, b, "visits");
      if (this.rows.some((o) => seen.lacks[o])) throw new RangeError("some behaviour never ends, and the mean field is that of tasks whose episodes end");
      const steps = seen.total.reduce((x, y) => x + y, 0);
      return this.entries.map(([o, a]) => {
        let alone = 0, after = new Float64Array(P.nS);
        for (const one of seen.used) {
          if (one.o !== o) continue;
          const row = one.s * P.nA + a;
          alone += one.share * chain.R[row];
          for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) after[P.pNext[k]] += P.gamma * one.share * P.pProb[k];
        }
        if (lambda !== 0) {
          // w = lambda (r + gamma P w) + (1 - lambda) v counts after the first step: once through the transposed system
          after = W.factor(P.structure.symbolic, chain.data, lambda * P.gamma, null).solveTransposed(after);
          after.forEach((x, s) => { alone += lambda * x * chain.r[s]; });
        }
        const to = new Map();
        after.forEach((x, s) => {
          if (x === 0 || P.terminal[s]) return;
          for (let e = P.oPtr[s]; e < P.oPtr[s + 1]; e++) to.set(P.oCol[e], (to.get(P.oCol[e]) || 0) + (1 - lambda) * x * P.oProb[e]);
        });
        return { rate: (seen.total[o] / steps) * b[o * P.nA + a], alone, to: Array.from(to).filter(([, weight]) => weight !== 0) };
      });
    }

    /** What row o of a table is worth to the target. */
    worth(q, o, best) {
      const { P, epsilon } = this, base = o * P.nA;
      if (this.kind === "qlearning") return q[base + best];
      let total = 0;
      for (let a = 0; a < P.nA; a++) total += q[base + a];
      return (1 - epsilon) * q[base + best] + (epsilon * total) / P.nA;
    }

    /** The field of the two entries at a table. */
    at(q, g) {
      return this.of(g).map(({ rate, alone, to }, i) => {
        const [o, a] = this.entries[i];
        let target = alone;
        for (const [row, weight] of to) target += weight * this.worth(q, row, g[row]);
        return rate * (target - q[o * this.P.nA + a]);
      });
    }
  }

  /** Regions of greedy policies and the field on a grid: region[j][i] counts the policies as they are met, flow[j][i] = [dx, dy]. */
  function tablePlane(fields, base, atX, atY) {
    const { P, entries } = fields, [[o1, a1], [o2, a2]] = entries, q = Float64Array.from(base), g = firstBest(P, q);
    const numbers = new Map(), policies = [], region = [], flow = [];
    const best = (o) => {
      let found = 0;
      for (let a = 1; a < P.nA; a++) if (q[o * P.nA + a] > q[o * P.nA + found]) found = a;
      return found;
    };
    for (const y of atY) {
      const regions = [], arrows = [];
      for (const x of atX) {
        q[o1 * P.nA + a1] = x;
        q[o2 * P.nA + a2] = y;
        g[o1] = best(o1);
        g[o2] = best(o2);
        const key = g[o1] * P.nA + g[o2];
        if (!numbers.has(key)) { numbers.set(key, policies.length); policies.push(Int32Array.from(g)); }
        regions.push(numbers.get(key));
        arrows.push(fields.at(q, g));
      }
      region.push(regions);
      flow.push(arrows);
    }
    return { region, policies, flow };
  }

  const MOST_NUMBERS = 2e6;

  /** The tables of a run at evenly spread steps, the first one included; when there are too many, every second one goes. */
  class Path {
    constructor(learner) {
      const most = Math.floor(MOST_NUMBERS / learner.table.length);
      Object.assign(this, { learner, every: 1, most: Math.max(16, Math.min(1024, most)), tables: [Float64Array.from(learner.table)] });
    }

    /** Run the learner on. */
    run(steps) {
      const { learner } = this, end = learner.steps + steps;
      while (learner.steps < end) {
        learner.run(Math.min(this.every - (learner.steps % this.every), end - learner.steps));
        if (learner.steps % this.every) continue;
        this.tables.push(Float64Array.from(learner.table));
        if (this.tables.length > this.most) {
          this.tables = this.tables.filter((_, k) => k % 2 === 0);
          this.every *= 2;
        }
      }
    }

    /** Two entries of each table, one pair after the other, and the present ones. */
    of([i, j]) {
      const pairs = this.tables.flatMap((q) => [q[i], q[j]]);
      if (this.learner.steps % this.every) pairs.push(this.learner.table[i], this.learner.table[j]);
      return Float64Array.from(pairs);
    }
  }

  Object.assign(W, { withGamma, firstBest, CellFields, tablePlane, Path });
})(Workbench);
