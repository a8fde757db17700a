/* Exercises with a judge: each looks at what the page shows, and says right or what is wrong. */
"use strict";
(function (W) {
  const page = W.page, $ = (id) => document.getElementById(id), { state } = page;
  const near = (x, y) => Math.abs(x - y) < 1e-6 * Math.max(1, Math.abs(y));

  /** Where the loop from uniform ends on the table of rewards on show, or NaN. */
  function endWith(memory) {
    const loop = new W.Loop(W.augment(page.baseModel(), memory), "visits"), ended = loop.run(0.02, 3000);
    return ended ? ended.value : NaN;
  }

  /** The value of the policy on show, or a sentence why there is none to judge. */
  function valueOn(task, memory) {
    if (state.task !== task || state.memory !== memory) return `Choose the task ${task} and the memory ${memory} first: press Open.`;
    return page.loop.now ? page.loop.now.value : "This policy never ends, so it has no value.";
  }

  /** Judge a policy by what it should be worth. */
  function worth(task, memory, goal) {
    const value = valueOn(task, memory);
    if (typeof value === "string") return value;
    return near(value, goal()) ? true : `This policy is worth ${W.shown(value)}; a better one exists. Step through an episode to see where it goes wrong.`;
  }

  /** Judge a table of rewards by where the loop ends with two memories. */
  function ends(good, bad) {
    if (!page.shownTask().editable) return "Choose the task with your own rewards first: press Open.";
    const best = page.bestHistory(), [high, low] = [endWith(good), endWith(bad)];
    const name = (memory) => (memory === "none" ? "Without memory" : `With ${memory}`);
    if (!near(high, best)) return `${name(good)} the loop ends at ${W.shown(high)}, and the best is ${W.shown(best)}.`;
    if (near(low, best)) return `${name(bad)} the loop reaches the best, too.`;
    return true;
  }

  const EXERCISES = [
    { link: "task=t_maze&m=none", text: "T-maze without memory: set the policy so that no memoryless policy is better.", judge: () => worth("t_maze", "none", () => page.best.value) },
    { link: "task=t_maze&m=B1", text: "T-maze with one bit: set the policy so that the agent always turns as the sign said.", judge: () => worth("t_maze", "B1", page.bestHistory) },
    { link: "task=recall4&m=B1&r=0,6;5,2", text: "Your own rewards: the loop reaches the best with OA1 and not with B1. Change the table, it must not be this one.", judge: () => own([["0", "6"], ["5", "2"]], () => ends("OA1", "B1")) },
    { link: "task=recall4&m=B1&r=5,4;0,6", text: "Your own rewards: the loop reaches the best without memory and not with B1. It must not be this table.", judge: () => own([["5", "4"], ["0", "6"]], () => ends("none", "B1")) },
  ];

  /** Refuse the table that an exercise starts with. */
  function own(given, judge) {
    return JSON.stringify(state.rewards) === JSON.stringify(given) ? "This is the table that was given: change a reward." : judge();
  }

  $("exercise-list").innerHTML = EXERCISES.map(({ text }, i) =>
    `<li>${W.escape(text)} <button type="button" data-open="${i}">Open</button><button type="button" data-check="${i}">Check</button> <span id="exercise-said-${i}" role="status" aria-live="polite"></span></li>`).join("");
  $("exercise-list").addEventListener("click", ({ target }) => {
    if (target.dataset.open) { location.hash = EXERCISES[target.dataset.open].link; $("setting").scrollIntoView(); }
    if (!target.dataset.check) return;
    const found = EXERCISES[target.dataset.check].judge(), said = $(`exercise-said-${target.dataset.check}`);
    said.textContent = found === true ? "✓ Right." : `✗ ${found}`;
    said.className = found === true ? "right" : "wrong";
  });
})(Workbench);
