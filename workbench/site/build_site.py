"""Build the site with Sphinx. The sources of all pages go to a folder of their own, and the files
to download beside them."""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import workbench
from workbench.core.errors import WorkbenchError
from workbench.extras import need
from workbench.output import check_folder
from workbench.site.census_pages import write_census_page
from workbench.site.claim_pages import write_certificates, write_claim_pages
from workbench.site.figure_pages import write_figure_pages
from workbench.site.gallery_pages import write_finds, write_gallery_pages
from workbench.site.material import Material
from workbench.site.mathml import Katex, set_formulas
from workbench.site.notebook_pages import write_notebook_pages
from workbench.site.proof_page import write_proof_page
from workbench.site.reference_pages import write_reference_pages
from workbench.site.slide_decks import write_slides
from workbench.site.sphinx_setup import configuration, prepare, terms_of
from workbench.site.teaching_pages import instructor_sheet
from workbench.site.text_pages import front_scripts, resource, write_text_pages


@dataclass(frozen=True)
class Built:
    """What a build left behind: pages, bytes, and what Sphinx complained about."""

    pages: int
    size: int
    warnings: tuple[str, ...]


def write_sources(material: Material, source: Path) -> None:
    """Write everything that Sphinx reads."""
    notebooks = write_notebook_pages(material.root, source, material.repository)
    write_text_pages(material, source, notebooks)
    write_claim_pages(material, source)
    write_gallery_pages(material, source)
    write_figure_pages(material, source)
    write_census_page(material, source)
    write_reference_pages(material, source)
    static, extra = source / "_static", source / "_extra"
    static.mkdir(exist_ok=True)
    extra.mkdir()
    for name in ("site.css", "filters.js"):
        (static / name).write_text(resource(name), encoding="utf-8")
    (static / "front.js").write_text(front_scripts(), encoding="utf-8")
    (static / "ledger.json").write_text(
        json.dumps(material.claims, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    if material.solutions:
        sheet = instructor_sheet(material.root, material.solutions, material.judge)
        (source / "instructors.md").write_text(sheet, encoding="utf-8")
    write_slides(material.root, extra / "slides")
    write_certificates(material, static / "certificates")
    write_finds(material, static / "finds")
    (extra / "explorer.html").write_text(material.explorer, encoding="utf-8")
    write_proof_page(material.root, extra)
    (extra / ".nojekyll").write_text("")


def build_site(
    material: Material, out: Path, report: Callable[[str], None] = lambda text: None
) -> Built:
    """Write the site into a folder, which is made anew.

    Parameters
    ----------
    out : the folder; one that holds something else than a site is refused.
    report : told what is being done.
    """
    check_target(out)
    with tempfile.TemporaryDirectory(prefix="workbench-site-") as folder:
        source, made, trees = (Path(folder, name) for name in ("source", "made", "trees"))
        source.mkdir()
        report("writing the sources of the pages")
        write_sources(material, source)
        report("making the pages")
        with Katex() as katex:
            complaints = _run_sphinx(source, made, trees, katex)
            for page in (*made.glob("notebooks/*.html"), *made.glob("slides/*.html")):
                text = page.read_text(encoding="utf-8")
                page.write_text(set_formulas(text, katex, complaints.append), encoding="utf-8")
        for left in (".buildinfo", "objects.inv"):
            (made / left).unlink(missing_ok=True)
        for page in made.rglob("*.html"):
            page.write_text(accessible(page.read_text(encoding="utf-8")), encoding="utf-8")
        (made / MARK).write_text(f"{workbench.__version__}\n", encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        shutil.copytree(made, out)
    files = [path for path in out.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    return Built(pages, sum(path.stat().st_size for path in files), tuple(complaints))


def accessible(page: str) -> str:
    """A page made accessible: its side columns have names, and its code can be scrolled by keys. A
    screen reader tells columns apart by their names.

    >>> accessible('<aside class="toc-drawer"><pre>')
    '<aside aria-label="On this page" class="toc-drawer"><pre tabindex="0">'
    """
    for kind, name in (("sidebar-drawer", "Site"), ("toc-drawer", "On this page")):
        page = page.replace(f'<aside class="{kind}', f'<aside aria-label="{name}" class="{kind}')
    return page.replace("<pre>", '<pre tabindex="0">')


MARK = ".workbench-site"
"""The file by which a folder is known to hold a site."""


def check_packages() -> None:
    """Say which packages of the extra are missing, before claims are judged for minutes."""
    for package in ("sphinx", "myst_nb", "furo", "highspy"):
        need(package, "site")


def check_target(out: Path) -> None:
    """Refuse a file, and a folder that cannot be written to or holds something else than a site."""
    if out.exists() and not out.is_dir():
        raise WorkbenchError(f"{out} is a file: name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise WorkbenchError(f"{out} holds something else than a site: name another folder")
    check_folder(out, make=False)


def _run_sphinx(source: Path, made: Path, trees: Path, katex: Katex) -> list[str]:
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    glossary = source / "docs" / "glossary.md"
    terms = terms_of(glossary.read_text(encoding="utf-8")) if glossary.exists() else {}
    settings = configuration(workbench.__version__)
    complaints = io.StringIO()
    with (
        patch_docutils(str(source)),
        docutils_namespace(),
        warnings.catch_warnings(),
    ):
        # What Sphinx will do without one day is the business of its extensions.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        (source / "conf.py").write_text("")
        app = Sphinx(
            str(source),
            str(source),
            str(made),
            str(trees),
            "html",
            confoverrides={
                key: value for key, value in settings.items() if key != "html_math_renderer"
            },
            status=None,
            warning=complaints,
            freshenv=True,
        )
        app.add_config_value("workbench_terms", terms, "env")
        prepare(app, katex, frozenset(workbench.__all__))
        app.config.html_math_renderer = settings["html_math_renderer"]
        app.build(force_all=True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", complaints.getvalue()).splitlines()
    return [line.replace(f"{source}/", "") for line in lines if line.strip()]
