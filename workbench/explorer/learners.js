/* Q-learning, Sarsa(lambda) and actor-critic, bit for bit those of `workbench.learn`.
 *
 * Each run owns a xoroshiro128+ whose words start as two outputs of splitmix64 on the seed; here the 64-bit words are pairs of
 * 32-bit halves. Random words are drawn in the order that workbench/learning/{value,sarsa,actor}_kernels.py tell, sums are made
 * in the same order, and `exp` is made of additions and multiplications alone, so the tables come out the same to the last bit.
 */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const TWO53 = 2 ** 53, END = -1;

  // ------------------------------------------------------------------ the generator

  const MASK = (1n << 64n) - 1n;

  function seedWords(seed) {
    let x = BigInt.asUintN(64, BigInt(seed));
    return [0, 1].map(() => {
      x = (x + 0x9e3779b97f4a7c15n) & MASK;
      let z = x;
      z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
      z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
      return z ^ (z >> 31n);
    });
  }

  /** Words are read from `high` and `low` after `next`. */
  class Generator {
    constructor(seed) {
      const [g0, g1] = seedWords(seed);
      this.a = Number(g0 >> 32n) | 0;
      this.b = Number(g0 & 0xffffffffn) | 0;
      this.c = Number(g1 >> 32n) | 0;
      this.d = Number(g1 & 0xffffffffn) | 0;
      this.high = this.low = 0;
    }

    next() {
      const a = this.a, b = this.b;
      const low = (b >>> 0) + (this.d >>> 0);
      this.low = low >>> 0;
      this.high = (a + this.c + (low > 0xffffffff ? 1 : 0)) >>> 0;
      const c = this.c ^ a, d = this.d ^ b;
      this.a = ((a << 24) | (b >>> 8)) ^ c ^ ((c << 16) | (d >>> 16)); // g0 rotated by 24
      this.b = ((b << 24) | (a >>> 8)) ^ d ^ (d << 16);
      this.c = (d << 5) | (c >>> 27); // g1 rotated by 37 = 32 + 5
      this.d = (c << 5) | (d >>> 27);
    }

    /** An integer below 2^53. */
    chance() {
      this.next();
      return this.high * 2097152 + (this.low >>> 11);
    }

    /** An integer below n. */
    oneOf(n) {
      this.next();
      return Math.floor((this.high * n) / 4294967296);
    }
  }

  const buffer = new DataView(new ArrayBuffer(8));

  /** e^x for x <= 0, as workbench.learning.softmax_kernels has it. */
  function exp(x) {
    x = x > -700.0 ? x : -700.0;
    const shifted = x * 1.4426950408889634 + 6755399441055744.0;
    const k = shifted - 6755399441055744.0;
    const r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    const r2 = r * r, r4 = r2 * r2;
    const low = (1.0 + r) + (0.5 + 0.16666666666666666 * r) * r2;
    const middle = (0.041666666666666664 + 0.008333333333333333 * r) + (0.001388888888888889 + 0.0001984126984126984 * r) * r2;
    const high = (2.48015873015873e-05 + 2.7557319223985893e-06 * r) + (2.755731922398589e-07 + 2.505210838544172e-08 * r) * r2;
    const top = 2.08767569878681e-09 + 1.6059043836821613e-10 * r;
    const series = (low + middle * r4) + (high + top * r4) * (r4 * r4);
    buffer.setUint32(0, ((k + 1023) << 20) >>> 0);
    buffer.setUint32(4, 0);
    return series * buffer.getFloat64(0);
  }

  // ------------------------------------------------------------------ the model to sample from

  function samplingTables(P) {
    const rows = P.nS * P.nA, first = new Int32Array(rows), last = new Int32Array(rows);
    const s = [], o = [], r = [], threshold = [];
    for (let row = 0; row < rows; row++) {
      first[row] = s.length;
      let cumulative = 0;
      for (let k = P.pPtr[row]; k < P.pPtr[row + 1]; k++) {
        const next = P.pNext[k], ends = P.terminal[next] === 1;
        for (let e = P.oPtr[next]; e < (ends ? P.oPtr[next] + 1 : P.oPtr[next + 1]); e++) {
          const x = ends ? P.pProb[k] : P.pProb[k] * P.oProb[e];
          if (!(x > 0)) continue;
          cumulative += x;
          threshold.push(Math.floor(Math.min(cumulative, 1) * TWO53));
          s.push(next);
          o.push(ends ? END : P.oCol[e]);
          r.push(P.pR[k]);
        }
      }
      last[row] = Math.max(first[row], s.length - 1);
    }
    const starts = { s: [], o: [], threshold: [] }, found = [];
    let whole = 0, all = true;
    for (let i = 0; i < P.nS; i++) {
      if (P.mu[i] === 0) continue;
      if (P.terminal[i]) { all = false; continue; }
      for (let e = P.oPtr[i]; e < P.oPtr[i + 1]; e++) if (P.oProb[e] > 0) found.push([i, P.oCol[e], P.mu[i] * P.oProb[e]]);
    }
    for (const [, , x] of found) whole += x;
    if (all) whole = 1;
    let cumulative = 0;
    for (const [i, seen, x] of found) {
      cumulative += x / whole;
      starts.s.push(i);
      starts.o.push(seen);
      starts.threshold.push(Math.floor(Math.min(cumulative, 1) * TWO53));
    }
    return {
      nO: P.nO, nA: P.nA, first, last, s: Int32Array.from(s), o: Int32Array.from(o), r: Float64Array.from(r),
      threshold: Float64Array.from(threshold), starts,
    };
  }

  const find = (threshold, from, to, u) => {
    while (from < to && u >= threshold[from]) from += 1;
    return from;
  };

  /** A learner that can be run on for any number of steps; `rewards` and `episodes` say what it got. */
  class Learner {
    constructor(tables, settings, seed) {
      Object.assign(this, { tables, settings, g: new Generator(seed), steps: 0, rewards: 0, episodes: 0, age: 0, s: 0, o: 0 });
      this.limit = settings.limit || Infinity;
    }

    begin() {
      const { starts } = this.tables;
      const k = starts.s.length > 1 ? find(starts.threshold, 0, starts.s.length - 1, this.g.chance()) : 0;
      this.s = starts.s[k];
      this.o = starts.o[k];
    }

    /** The place of the outcome of row s |A| + a. */
    take(row) {
      const { first, last, threshold } = this.tables, from = first[row], to = last[row];
      return from === to ? from : find(threshold, from, to, this.g.chance());
    }

    /** The greedy action of each observation, the first among equals. */
    greedy() {
      const { nO, nA } = this.tables, table = this.table;
      return Int32Array.from({ length: nO }, (_, o) => {
        let best = 0;
        for (let a = 1; a < nA; a++) if (table[o * nA + a] > table[o * nA + best]) best = a;
        return best;
      });
    }
  }

  /** An epsilon-greedy action: one word whether to explore, one for the action, or for which of several greedy ones. */
  function choose(learner, q, o) {
    const { nA } = learner.tables, base = o * nA;
    let best = q[base], first = 0, ties = 1;
    for (let a = 1; a < nA; a++) {
      const x = q[base + a];
      if (x > best) { best = x; first = a; ties = 1; } else if (x === best) ties += 1;
    }
    if (learner.g.chance() < learner.epsilon) return learner.g.oneOf(nA);
    if (ties === 1) return first;
    let j = learner.g.oneOf(ties);
    for (let a = 0; a < nA; a++) if (q[base + a] === best && j-- === 0) return a;
    return 0;
  }

  function largest(q, base, nA) {
    let best = q[base];
    for (let a = 1; a < nA; a++) if (q[base + a] > best) best = q[base + a];
    return best;
  }

  class QLearning extends Learner {
    constructor(tables, settings, seed) {
      super(tables, settings, seed);
      this.epsilon = Math.floor(settings.epsilon * TWO53);
      this.table = this.q = new Float64Array(tables.nO * tables.nA).fill(settings.initial);
      this.begin();
    }

    run(steps) {
      const { tables, q, settings } = this, { nA, s, o, r } = tables, { step, gamma } = settings;
      for (let t = 0; t < steps; t++) {
        const a = choose(this, q, this.o), i = this.o * nA + a, k = this.take(this.s * nA + a), reward = r[k];
        this.s = s[k];
        this.rewards += reward;
        this.age += 1;
        if (o[k] === END) {
          q[i] += step * (reward - q[i]);
          this.age = this.limit;
        } else {
          q[i] += step * (reward + gamma * largest(q, o[k] * nA, nA) - q[i]);
          this.o = o[k];
        }
        if (o[k] === END || this.age >= this.limit) {
          this.age = 0;
          this.episodes += 1;
          this.begin();
        }
      }
      this.steps += steps;
    }
  }

  class Sarsa extends Learner {
    constructor(tables, settings, seed) {
      super(tables, settings, seed);
      const n = tables.nO * tables.nA;
      this.epsilon = Math.floor(settings.epsilon * TWO53);
      this.table = this.q = new Float64Array(n).fill(settings.initial);
      this.active = new Int32Array(n);
      this.z = new Float64Array(n);
      this.place = new Int32Array(n);
      this.held = 0;
      this.start();
    }

    start() {
      this.begin();
      this.a = choose(this, this.q, this.o);
      this.qOld = this.q[this.o * this.tables.nA + this.a];
    }

    run(steps) {
      const { tables, q, active, z, place, settings } = this, { nA, s, o, r } = tables, { step, gamma } = settings;
      const decay = gamma * settings.lambda, cutoff = settings.cutoff;
      for (let t = 0; t < steps; t++) {
        const i = this.o * nA + this.a, k = this.take(this.s * nA + this.a), reward = r[k], ended = o[k] === END;
        this.s = s[k];
        this.rewards += reward;
        this.age += 1;
        let qNext = 0;
        if (!ended) {
          this.o = o[k];
          this.a = choose(this, q, this.o);
          qNext = q[this.o * nA + this.a];
        }
        if (place[i] === 0) {
          active[this.held] = i;
          z[this.held] = 1;
          this.held += 1;
          place[i] = this.held;
        } else z[place[i] - 1] = (1 - step) * z[place[i] - 1] + 1;
        const change = q[i] - this.qOld, move = step * (reward + gamma * qNext - q[i] + change);
        for (let j = 0; j < this.held; j++) q[active[j]] += move * z[j];
        q[i] -= step * change;
        this.qOld = qNext;
        if (ended || this.age >= this.limit) {
          for (let j = 0; j < this.held; j++) place[active[j]] = 0;
          this.held = this.age = 0;
          this.episodes += 1;
          this.start();
        } else {
          let smallest = 1;
          for (let j = 0; j < this.held; j++) {
            z[j] *= decay;
            if (z[j] < smallest) smallest = z[j];
          }
          if (smallest <= cutoff) this.drop(cutoff);
        }
      }
      this.steps += steps;
    }

    /** Take the traces of at most `cutoff` off the list, the last one filling each gap. */
    drop(cutoff) {
      const { active, z, place } = this;
      for (let j = 0; j < this.held;) {
        if (z[j] > cutoff) { j += 1; continue; }
        this.held -= 1;
        place[active[j]] = 0;
        if (j < this.held) {
          active[j] = active[this.held];
          z[j] = z[this.held];
          place[active[j]] = j + 1;
        }
      }
    }
  }

  class ActorCritic extends Learner {
    constructor(tables, settings, seed) {
      super(tables, settings, seed);
      const { nO, nA } = tables, { n } = settings;
      this.table = this.h = new Float64Array(nO * nA);
      this.v = new Float64Array(nO).fill(settings.v);
      this.pi = new Float64Array(nO * nA).fill(1 / nA);
      this.oAt = new Int32Array(n);
      this.aAt = new Int32Array(n);
      this.G = new Float64Array(n);
      this.powers = new Float64Array(n + 1).fill(1);
      for (let k = 0; k < n; k++) this.powers[k + 1] = this.powers[k] * settings.gamma;
      this.oldest = this.held = 0;
      this.begin();
    }

    softmaxRow(base) {
      const { h, pi, tables } = this, { nA } = tables, most = largest(h, base, nA);
      let total = 0;
      for (let a = 0; a < nA; a++) pi[base + a] = exp(h[base + a] - most);
      for (let a = 0; a < nA; a++) total += pi[base + a];
      const share = 1 / total;
      for (let a = 0; a < nA; a++) pi[base + a] *= share;
    }

    draw() {
      const { pi, tables } = this, { nA } = tables, base = this.o * nA, u = this.g.chance() / TWO53;
      let cumulative = pi[base], a = 0;
      while (a + 1 < nA && u >= cumulative) { a += 1; cumulative += pi[base + a]; }
      return a;
    }

    update(o, a, G) {
      const { h, pi, v, tables, settings } = this, { nA } = tables, delta = G - v[o], move = settings.policyStep * delta;
      v[o] += settings.valueStep * delta;
      if (move === 0) return;
      for (let b = 0; b < nA; b++) h[o * nA + b] -= move * pi[o * nA + b];
      h[o * nA + a] += move;
      this.softmaxRow(o * nA);
    }

    updateOldest(after) {
      const at = this.oldest, G = after === null ? this.G[at] : this.G[at] + after;
      this.update(this.oAt[at], this.aAt[at], G);
      this.oldest = at + 1 === this.G.length ? 0 : at + 1;
      this.held -= 1;
    }

    run(steps) {
      if (this.settings.update === "batch") this.runBatches(steps);
      else this.runWindow(steps);
      this.steps += steps;
    }

    runWindow(steps) {
      const { tables, G, powers, v } = this, { nA, s, o, r } = tables, n = G.length;
      for (let t = 0; t < steps; t++) {
        const a = this.draw();
        const newest = this.oldest + this.held >= n ? this.oldest + this.held - n : this.oldest + this.held;
        this.oAt[newest] = this.o;
        this.aAt[newest] = a;
        G[newest] = 0;
        this.held += 1;
        const k = this.take(this.s * nA + a), reward = r[k], ended = o[k] === END;
        this.s = s[k];
        this.rewards += reward;
        this.age += 1;
        if (reward !== 0) {
          for (let j = 0, at = newest; j < this.held; j++) {
            G[at] += powers[j] * reward;
            at = at === 0 ? n - 1 : at - 1;
          }
        }
        if (ended || this.age >= this.limit) {
          while (this.held > 0) this.updateOldest(ended ? null : powers[this.held] * v[o[k]]);
          this.age = 0;
          this.episodes += 1;
          this.begin();
        } else {
          this.o = o[k];
          if (this.held === n) this.updateOldest(powers[n] * v[this.o]);
        }
      }
    }

    runBatches(steps) {
      const { tables, G, v } = this, { nA, s, o, r } = tables, n = G.length;
      for (let t = 0; t < steps; t++) {
        const a = this.draw(), k = this.take(this.s * nA + a), ended = o[k] === END;
        this.oAt[this.held] = this.o;
        this.aAt[this.held] = a;
        G[this.held] = r[k];
        this.held += 1;
        this.s = s[k];
        this.rewards += r[k];
        this.age += 1;
        const cut = ended || this.age >= this.limit;
        if (cut || this.held === n) {
          this.updateBatch(ended ? 0 : v[o[k]]);
          this.held = 0;
        }
        if (cut) {
          this.age = 0;
          this.episodes += 1;
          this.begin();
        } else this.o = o[k];
      }
    }

    updateBatch(after) {
      const { h, pi, v, oAt, aAt, tables, settings } = this, { nA } = tables, at = this.G;
      let G = after;
      for (let k = this.held - 1; k >= 0; k--) {
        G = at[k] + settings.gamma * G;
        at[k] = G - v[oAt[k]];
      }
      for (let k = 0; k < this.held; k++) {
        const move = settings.policyStep * at[k], base = oAt[k] * nA;
        v[oAt[k]] += settings.valueStep * at[k];
        for (let b = 0; b < nA; b++) h[base + b] -= move * pi[base + b];
        h[base + aAt[k]] += move;
      }
      for (let k = 0; k < this.held; k++) if (settings.policyStep * at[k] !== 0) this.softmaxRow(oAt[k] * nA);
    }
  }

  const LEARNERS = { qlearning: QLearning, sarsa: Sarsa, "actor-critic": ActorCritic };

  /** A learner by name; settings as in the package, gamma the model's. */
  function makeLearner(P, name, settings, seed) {
    const all = { epsilon: 0.01, step: 0.1, initial: 1, lambda: 0.5, cutoff: 1e-8, n: 5, policyStep: 0.1, valueStep: 0.001, v: 0, update: "window", gamma: P.gamma, ...settings };
    return new LEARNERS[name](samplingTables(P), all, seed);
  }

  /** The exact, undiscounted-as-the-task-is value of a deterministic policy given as actions; NaN where it never ends. */
  function greedyValue(P, actions) {
    const pi = new Float64Array(P.nO * P.nA);
    actions.forEach((a, o) => { pi[o * P.nA + a] = 1; });
    try {
      return W.evaluate(P, pi, "visits").value;
    } catch (error) {
      if (error instanceof W.NeverEnds) return NaN;
      throw error;
    }
  }

  Object.assign(W, { seedWords, Generator, makeLearner, greedyValue });
})(Workbench);
