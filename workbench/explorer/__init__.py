"""The explorer: one self-contained HTML page in which POMDPs with memories can be watched, stepped
through and edited.

| file | what it holds |
|---|---|
| `export` | a POMDP as the JSON that the page reads |
| `html_page` | the page put together from its parts |
| `fractions.js`, `exact.js` | rationals on BigInt; values and TD fixed points in them |
| `solver.js` | sparse linear systems |
| `model.js` | models, memories, the product of the two (Appendix A.1) |
| `evaluator.js` | values, TD fixed points, shortcuts |
| `policies.js` | greedy, the oracle loop's step, the best deterministic policy, episodes |
| `loop.js` | the oracle loop and how it ends |
| `learners.js`, `worker.js` | the learners, bit for bit the package's, in a worker |
| `inquiries.js` | fixed points of learning, beliefs, slices of the policy space |
| `portrait.js`, `portrait_card.js` | the phase portrait of a learner: regions, mean field, a run |
| `reader.js` | tasks from `.POMDP` and JSON files |
| `links.js` | policies and tasks as text for links; Python that rebuilds what is shown |
| `views.js` | tables, chart and grid as HTML and SVG |
| `explorer.js`, `laboratory.js` | the controls |
| `page.html`, `explorer.css` | the document and its looks |

The page computes with its own small evaluator; tests compare it with `workbench.evaluate` and the
others.
"""
