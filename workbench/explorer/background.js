/* Work for workers of its own, so that the page goes on answering: loops with their progress, searches for the best policy. */
"use strict";
(function (W) {
  let count = 0;
  const workers = {}, waiting = new Map(); // one worker for each kind of job: a long search does not hold up a loop

  /** Give a job to the worker of its kind; `told` hears each message about it. */
  function post(kind, job, told) {
    if (!workers[kind]) {
      const source = document.getElementById("calculating").textContent;
      workers[kind] = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      workers[kind].onmessage = ({ data }) => { if (waiting.has(data.id)) waiting.get(data.id)(data); };
    }
    const id = ++count;
    waiting.set(id, told);
    workers[kind].postMessage({ [kind]: { ...job, id } });
    return id;
  }

  /** Run a loop to its end. `told` gets {n, values, loop}: all values so far, and at last the loop itself.
   *
   * Returns stop(), after which the loop as it is then is told, and forget(), after which nothing is.
   */
  function follow(loop, model, memory, size, most, told) {
    const values = loop.values.slice();
    const id = post("follow", { model, memory, fields: loop.packed(), size, most }, (data) => {
      values.push(...data.values);
      if (data.fields) waiting.delete(id);
      told({ n: data.n, values, ended: data.ended, loop: data.fields && W.Loop.unpacked(loop.P, data.fields) });
    });
    return {
      stop: () => workers.follow.postMessage({ halt: id }),
      forget: () => { waiting.delete(id); workers.follow.postMessage({ halt: id }); },
    };
  }

  /** Look for the best deterministic policy; `told` gets it. Returns forget(). */
  function lookForBest(model, memory, most, told) {
    const id = post("best", { model, memory, most }, (data) => { waiting.delete(id); told(data.best); });
    return () => waiting.delete(id);
  }

  W.background = { follow, lookForBest };
})(Workbench);
