/* The oracle loop with a memory of its own past: iterates, values, and how it ends (Section 5.2). */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  const SMALL = 0.01; // when so little is left of the policy at which greedy last changed, the rest of the way is looked at
  const SHARES = [0.7, 0.4, 0.2, 0.1, 0.03, 0.01, 0.001, 0];

  /** The loop on P from pi; `ended` is null, {how: "fixed", value} or {how: "limit cycle", period, value, low, high}. */
  class Loop {
    constructor(P, weights, pi = W.uniform(P)) {
      Object.assign(this, { P, weights, pi, start: pi, size: null, mixed: false, taken: [], n: 0, values: [], marks: [], left: 1, rowLeft: new Float64Array(P.nO).fill(1), looked: ["", 1], ended: null, error: "" });
      this.look();
    }

    /** Evaluate the present policy. */
    look() {
      try {
        this.now = W.evaluate(this.P, this.pi, this.weights);
        this.greedy = W.greedyActions(this.P, this.now.q);
        this.error = "";
      } catch (error) {
        if (!(error instanceof W.NeverEnds)) throw error;
        this.now = null;
        this.error = error.message;
      }
      this.values.push(this.now ? this.now.value : NaN);
    }

    /** One step towards the greedy policy; false if there is nothing to do. */
    step(size) {
      if (!this.now) return false;
      this.mixed = this.mixed || (this.size !== null && this.size !== size);
      this.size = size;
      if (this.taken.length < 400) this.taken.push(this.greedy);
      const before = this.greedy, mark = before.join();
      if (this.marks.length && this.marks[this.marks.length - 1] !== mark) this.left = 1;
      this.marks.push(mark);
      this.left *= 1 - size;
      this.pi = W.toward(this.P, this.pi, this.greedy, size);
      this.n += 1;
      this.look();
      if (this.now) this.greedy.forEach((a, o) => { this.rowLeft[o] = a === before[o] ? (1 - size) * this.rowLeft[o] : 1; });
      if (!this.ended) this.ended = this.limit(mark) || this.limitOfVisited() || this.cycle(size);
      return true;
    }

    /** The deterministic policy ahead, if it stays greedy on the rest of the way to it. */
    limit(mark) {
      const [before, left] = this.looked;
      const enough = before === mark ? SMALL * left : SMALL; // after a look in vain, look again when much less is left
      if (this.left > enough || !this.now || this.greedy.join() !== mark) return null;
      this.looked = [mark, this.left];
      const { P, greedy } = this;
      let last = null;
      for (const share of SHARES) {
        try {
          last = W.evaluate(P, W.toward(P, this.pi, greedy, 1 - share), this.weights);
        } catch (error) {
          if (error instanceof W.NeverEnds) return null;
          throw error;
        }
        const there = W.greedyActions(P, last.q);
        const differs = there.some((a, o) => a !== greedy[o] && a >= 0 &&
          (share > 0 || W.compare(last.q[o * P.nA + a], last.q[o * P.nA + greedy[o]], W.scaleOf(last.q)) !== 0));
        if (differs) return null;
      }
      return { how: "fixed", value: last.value };
    }

    /** The limit where rows that it does not visit go on changing: they have no part in what it is worth. */
    limitOfVisited() {
      if (this.n % 50 !== 0 || !this.now || this.rowLeft.every((x) => x <= SMALL)) return null;
      const { P, greedy } = this, settled = greedy.map((a, o) => (this.rowLeft[o] <= SMALL ? a : -1));
      const at = (share) => W.evaluate(P, W.toward(P, this.pi, settled, 1 - share), this.weights);
      try {
        const last = at(0);
        if (last.reached.some((x, o) => x && settled[o] < 0)) return null;
        for (const share of SHARES) {
          const there = W.greedyActions(P, at(share).q), scale = W.scaleOf(last.q);
          const differs = there.some((a, o) => last.reached[o] && a !== settled[o] && a >= 0 &&
            (share > 0 || W.compare(last.q[o * P.nA + a], last.q[o * P.nA + settled[o]], scale) !== 0));
          if (differs) return null;
        }
        return { how: "fixed", value: last.value };
      } catch (error) {
        if (error instanceof W.NeverEnds) return null;
        throw error;
      }
    }

    /** A limit cycle: greedy has repeated itself with some period for so long that nothing else is left. */
    cycle(size) {
      if (this.n % 50 !== 0) return null;
      const settle = size >= 1 ? 1 : Math.ceil(Math.log(1e-8) / Math.log1p(-size));
      const length = Math.max(16, 2 * settle), marks = this.marks.slice(-length);
      if (marks.length < length || marks.every((mark) => mark === marks[0])) return null;
      for (let period = 2; period <= Math.min(length - settle, length / 2); period++) {
        if (!marks.every((mark, i) => i < period || mark === marks[i - period])) continue;
        const recent = this.values.slice(-period);
        const value = recent.reduce((x, y) => x + y, 0) / period;
        return { how: "limit cycle", period, value, low: Math.min(...recent), high: Math.max(...recent) };
      }
      return null;
    }

    /** What a loop knows, to be sent to a worker or back; the model stays where it is. */
    packed() {
      const { P, now, ...rest } = this;
      return rest;
    }

    /** A loop on P from what `packed` gave. */
    static unpacked(P, fields) {
      const loop = Object.assign(Object.create(Loop.prototype), fields, { P, values: fields.values.slice(0, -1) });
      loop.look();
      return loop;
    }

    /** Steps until it has ended or `most` are done. */
    run(size, most) {
      for (let i = 0; i < most && !this.ended && this.step(size); i++);
      return this.ended;
    }
  }

  W.Loop = Loop;
})(Workbench);
