"""The site: notebooks, ledger, gallery, figures, reference and explorer as static pages that need
no network, by `workbench site`.

| file | what it holds |
|---|---|
| `material` | what the pages are made of, handed over by the command |
| `build_site` | the sources of all pages written, Sphinx called on them, what is left over |
| `sphinx_setup` | how Sphinx is set up, and what is done to its documents |
| `formulas` | formulas as docstrings write them, as TeX |
| `mathml` | TeX as MathML, by KaTeX from a package |
| `docstrings` | docstrings as reStructuredText, formulas set |
| `notebook_pages`, `claim_pages`, `figure_pages`, `gallery_pages` | the pages |
| `census_pages`, `reference_pages`, `text_pages` | more of them |
| `hosted_notebook` | links that open a notebook on Binder or Colab, the cell that installs there |
| `slide_decks`, `teaching_pages` | slides of the lessons, the sheet for instructors |
| `assignments` | exercises for nbgrader |
| `front.html`, `trap.js` | the two-step trap of the front page |
| `proof_page` | the proof of Theorem C.6, stepped through |
| `filter_bar`, `filters.js` | tables that can be filtered and put in order |
| `site.css` | looks |

Sphinx, MyST-NB and Furo make the pages (extra `site`); nothing is executed while they do.
"""
