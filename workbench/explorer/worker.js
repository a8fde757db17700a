/* In a worker: a learner or a loop runs on and says every now and then where it is; a search for the best policy runs to its
 * end. In the page this does nothing. */
"use strict";
var Workbench = Workbench || {};
(function (W) {
  if (typeof document !== "undefined" || typeof self === "undefined" || typeof postMessage === "undefined") return;
  let learner = null, path = null, watched = [0, 0], P = null, going = false, before = 0, speed = 0;
  const PIECE = 0.05; // seconds between two words

  function tell() {
    const greedy = learner.greedy();
    postMessage({
      steps: learner.steps, rewards: learner.rewards, episodes: learner.episodes, greedy, table: Float64Array.from(learner.table),
      value: W.greedyValue(P, greedy), going, speed, watched, path: path.of(watched),
    });
  }

  function work() {
    if (!going) return;
    const began = performance.now(), from = learner.steps;
    let piece = 2000;
    while (performance.now() - began < 1000 * PIECE && learner.steps < before) {
      path.run(Math.min(piece, before - learner.steps));
      piece = Math.min(2 * piece, 200000);
    }
    // the first piece is slow: nothing is compiled yet, and its path takes every table
    if (from > 0) speed = (1000 * (learner.steps - from)) / Math.max(performance.now() - began, 1e-3);
    if (learner.steps >= before) going = false;
    tell();
    setTimeout(work, 0);
  }

  const modelOf = ({ model, memory }) => W.augment(model.rewards ? W.twoStep(model.rewards, "two steps") : W.decode(model), memory);

  /** The oracle loop, a piece at a time, until it ends, has `most` iterates, or is told to stop. */
  function follow(job) {
    const loop = W.Loop.unpacked(modelOf(job), job.fields);
    let told = loop.values.length;
    (function piece() {
      const began = performance.now();
      let goesOn = true;
      while (goesOn && performance.now() - began < 4000 * PIECE) goesOn = !loop.ended && loop.n < job.most && loop.step(job.size);
      const done = !goesOn || halted.has(job.id);
      postMessage({ id: job.id, n: loop.n, values: loop.values.slice(told), ended: loop.ended, fields: done ? loop.packed() : null });
      told = loop.values.length;
      if (!done) setTimeout(piece, 0); // so that a message to stop is heard
    })();
  }

  const halted = new Set();

  self.onmessage = ({ data }) => {
    if (data.follow) follow(data.follow);
    if (data.halt) halted.add(data.halt);
    if (data.best) {
      const E = modelOf(data.best), { most } = data.best;
      postMessage({ id: data.best.id, best: W.bestDeterministic(E, most) || W.goodDeterministic(E, most) });
    }
    if (data.watch) {
      watched = data.watch;
      if (learner && !data.make) tell();
    }
    if (data.make) {
      const { model, memory, name, settings, seed } = data.make;
      P = modelOf({ model, memory });
      learner = W.makeLearner(P, name, settings, seed);
      path = new W.Path(learner);
      going = false;
      speed = 0;
      tell();
    }
    if (data.until) {
      before = data.until;
      if (!going) { going = true; work(); }
    }
    if (data.pause) { going = false; tell(); }
  };
})(Workbench);
