/* In a worker: a learner runs on, and says every now and then where it is. In the page this does nothing. */
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

  self.onmessage = ({ data }) => {
    if (data.watch) {
      watched = data.watch;
      if (learner && !data.make) tell();
    }
    if (data.make) {
      const { model, memory, name, settings, seed } = data.make;
      P = W.augment(model.rewards ? W.twoStep(model.rewards, "two steps") : W.decode(model), memory);
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
