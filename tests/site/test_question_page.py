"""The page *Which question, which function* leaves out no public name and no command."""

import re
from pathlib import Path

import workbench
from workbench.cli.main import GROUPS

PAGE = (Path(__file__).parents[2] / "docs" / "which-question.md").read_text()


def test_every_public_name_is_on_the_page():
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", PAGE))))
    assert {*workbench._HOMES, *workbench._MODULES} - named == set()


def test_every_command_is_on_the_page_and_no_other():
    named = set(re.findall(r"`workbench ([a-z-]+)", PAGE))
    assert named == {name for names in GROUPS.values() for name in names}


def test_the_pages_that_it_names_exist():
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (Path(__file__).parents[2] / "docs" / target).exists(), target
