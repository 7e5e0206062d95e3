"""Pages that are made from the program are what the program says."""

import ast
import re

import pytest
from tools.reference.__main__ import FOLDER, PAGES
from tools.reference.errors import REFUSALS, TITLES, classes, parsed, refused
from tools.reference.events import page as events_page
from tools.reference.metrics import router, scheduler, server

from ganglion.model.errors import GanglionError
from ganglion.server.rest.problems import _HTTP

MAKERS = re.compile(r"(Counter|Gauge|Histogram)(MetricFamily)?")


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    current = (FOLDER / name).read_text("utf-8")
    assert current == PAGES[name](), "run: python -m tools.reference"


def test_every_code_of_a_refusal_has_a_meaning_and_no_other_has() -> None:
    named = refused() | {code for code, _ in _HTTP.values()} | {"input.usage"}
    assert named - classes().keys() == REFUSALS.keys() - classes().keys()


def test_every_class_of_the_tree_is_listed() -> None:
    def below(kind: type[GanglionError]) -> set[type[GanglionError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    codes = {each.code for each in below(GanglionError) if each.__module__.startswith("ganglion.")}
    assert codes <= classes().keys()
    assert {code.partition(".")[0] for code in [*codes, *REFUSALS]} <= TITLES.keys()


def test_every_metric_that_the_source_names_is_listed() -> None:
    named = set[str]()
    for _, tree in parsed(MAKERS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and MAKERS.fullmatch(getattr(node.func, "id", "")):
                named |= {str(a.value) for a in node.args[:1] if isinstance(a, ast.Constant)}
    listed = {row.name.removesuffix("_total") for row in (*server(), *scheduler(), *router())}
    assert len(named) > 30
    listed.add("ganglion_gpus_total")  # a gauge of that name
    assert {each for each in named if each.startswith("ganglion_")} - listed == set()


def test_events_show_their_fields_in_words_of_json() -> None:
    section = events_page().partition("## `alarm_set`")[2].partition("\n## ")[0]
    assert "| `alarm` | text | required |" in section
    assert "`request`" not in section
