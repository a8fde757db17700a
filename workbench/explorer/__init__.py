"""The explorer: one self-contained HTML page in which POMDPs with memories can be watched, stepped
through and edited.

| file | what it holds |
|---|---|
| `export` | a POMDP as the JSON that the page reads |
| `build` | the page put together from its parts |
| `solver.js` | sparse linear systems |
| `model.js` | models, memories, the product of the two (Appendix A.1) |
| `evaluator.js` | values, TD fixed points, shortcuts |
| `policies.js` | greedy, the oracle loop's step, the best deterministic policy, episodes |
| `views.js` | tables, chart and grid as HTML and SVG |
| `explorer.js` | the controls |
| `page.html`, `explorer.css` | the document and its looks |

The page computes with its own small evaluator; tests compare it with `workbench.evaluate` and the
others.
"""
