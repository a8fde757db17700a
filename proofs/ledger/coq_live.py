"""A page on which Coq itself runs: the proof of Theorem C.6 in the browser, by jsCoq.

jsCoq (0.17.1) is an npm package of 49 MB that the project does not need and does not ship:

    npm pack jscoq@0.17.1 && tar xzf jscoq-0.17.1.tgz
    python -m proofs.ledger.coq_live package site
    python -m http.server -d site        # then open http://localhost:8000/live-C6.html

The second line needs `node`. It compiles what the theorem rests on with jsCoq's own Coq, which is
8.17 and slow: some minutes. The page needs a server, be it on one's own machine, because browsers
refuse workers that are loaded from files; it needs no network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from proofs.ledger.coq_steps import proof_of
from proofs.ledger.formal import needed_by
from workbench.core.errors import WorkbenchError

FILE = "Suboptimal.v"
SHOWN = ("lemma_C5", "theorem_C6")
NAME = "live-C6.html"
_KEPT = ("jscoq.js", "dist/frontend", "frontend/classic", "backend/jsoo", "coq-pkgs", "docs")
_LONGEST_SECONDS = 1200

_DRIVER = """
const fs = require("fs"), Module = require("module");
const { worker, load_path, plugins, source, target, name } = JSON.parse(fs.readFileSync(0));
const box = new Module(worker);
box._compile(fs.readFileSync(worker, "utf8"), worker);
const coq = box.exports.jsCoq;
let loaded = false;
coq.onmessage = ([kind, ...rest]) => {
  if (kind === "Loaded") loaded = true;
  // the worker writes the file, and then cannot send it to us as well: no matter
  if (kind === "Got" || (loaded && kind === "CoqExn")) process.exit(fs.existsSync(target) ? 0 : 1);
  if (kind === "CoqExn" || kind === "JsonExn") {
    console.error(JSON.stringify(rest).slice(0, 600));
    process.exit(1);
  }
  if (kind === "Ready") {
    coq.postMessage(["Load", source]);
    coq.postMessage(["Compile", target]);
  }
};
for (const plugin of plugins) coq.postMessage(["Register", plugin]);
coq.postMessage(["Init", { implicit_libs: true, lib_path: load_path }]);
// no prelude: jsCoq would export it again from every file, and its `sum` would hide ours
coq.postMessage(["NewDoc", { top_name: name, lib_init: [] }]);
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Theorem C.6, live</title>
<link rel="stylesheet" href="./jscoq/dist/frontend/index.css"></head>
<body class="jscoq-main">
<div id="ide-wrapper" class="toggled"><div id="code-wrapper"><div id="document">
<h1>Theorem C.6, live</h1>
<p>Coq runs in this page. Alt and the arrow keys go through the proof; what is left to show
stands on the right. Change it, and see what Coq says.</p>
<textarea id="proof">
@PROOF@
</textarea>
</div></div></div>
<script type="module">
import { JsCoq } from "./jscoq/jscoq.js";
JsCoq.start(["proof"], {
  backend: "js", prelude: true, implicit_libs: true, editor: { keyMap: "default" },
  init_pkgs: ["init"], all_pkgs: ["coq", "remembering"],
}).then((coq) => { window.coq = coq; });
</script>
</body>
</html>
"""


def shown_text() -> str:
    """What the page lets one step through: the imports, Lemma C.5 and Theorem C.6."""
    names = " ".join(path.stem for path in needed_by(FILE))
    head = [
        "From Coq Require Import Reals Lra Lia List Bool Arith.",
        f"From Remembering Require Import {names}.",
        "Open Scope R_scope.",
    ]
    proofs = ["\n".join(proof_of(FILE, name)[1]) for name in SHOWN]
    return "\n".join([*head, *(f"\n{proof}" for proof in proofs)])


def compile_for_jscoq(package: Path, folder: Path) -> list[Path]:
    """Compile what the theorem needs with jsCoq's worker. Returns the compiled files, in a
    folder."""
    if (node := shutil.which("node")) is None:
        raise WorkbenchError("node is not installed, and jsCoq's Coq runs in it")
    library, ours = folder / "library", folder / "Remembering"
    for path in (package / "coq-pkgs").glob("*.coq-pkg"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(library)
    ours.mkdir()
    parts = [path for path in library.rglob("*") if path.is_dir()]
    load_path = [[list(path.relative_to(library).parts), [str(path), "."]] for path in parts]
    plugins = sorted(str(path) for path in library.rglob("*.cma"))
    found = []
    for source in needed_by(FILE):
        print(source.name, flush=True)
        text = f"Require Import Coq.Init.Prelude.\n{source.read_text()}"
        (folder / source.name).write_text(text)
        order = {
            "worker": str((package / "backend/jsoo/jscoq_worker.bc.js").resolve()),
            "load_path": [*load_path, [["Remembering"], [str(ours), "."]]],
            "plugins": plugins,
            "source": str(folder / source.name),
            "target": str(ours / f"{source.stem}.vo"),
            "name": f"Remembering.{source.stem}",
        }
        done = subprocess.run(
            [node, "-e", _DRIVER],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=_LONGEST_SECONDS,
            check=False,
        )
        if done.returncode != 0 or not (ours / f"{source.stem}.vo").exists():
            raise WorkbenchError(f"jsCoq refuses {source.name}: {done.stderr.strip()[-600:]}")
        found.append(ours / f"{source.stem}.vo")
    return found


def write_live_page(package: Path, site: Path) -> Path:
    """Write the page, the parts of jsCoq that it loads, and our compiled files. Returns its
    path."""
    target = site / "jscoq"
    for part in _KEPT:
        if not (package / part).exists():
            raise WorkbenchError(f"{package} is not jsCoq 0.17.1: it has no {part}")
    with tempfile.TemporaryDirectory() as temporary:
        compiled = compile_for_jscoq(package, Path(temporary).resolve())
        for part in _KEPT:
            if (package / part).is_dir():
                shutil.copytree(package / part, target / part, dirs_exist_ok=True)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(package / part, target / part)
        about = {
            "name": "remembering",
            "deps": ["coq-reals"],
            "modules": {f"Remembering.{path.stem}": {} for path in compiled},
        }
        packed = target / "coq-pkgs" / "remembering.coq-pkg"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("coq-pkg.json", json.dumps(about))
            for path in compiled:
                archive.write(path, f"Remembering/{path.name}")
        packed.with_suffix(".json").write_text(json.dumps(about))
    page = site / NAME
    text = shown_text().replace("&", "&amp;").replace("<", "&lt;")
    page.write_text(_PAGE.replace("@PROOF@", text), encoding="utf-8")
    return page


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m proofs.ledger.coq_live JSCOQ_FOLDER SITE_FOLDER")
    print(write_live_page(Path(sys.argv[1]), Path(sys.argv[2])))
