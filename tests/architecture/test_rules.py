"""The package keeps its rules, and every rule can be broken."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.archlint.__main__ import RULES
from tools.archlint.decisions.order import ORDER_ALLOWED
from tools.archlint.decisions.prose import PROSE_ALLOWED
from tools.archlint.decisions.purity import (
    FLOATS_ALLOWED,
    IMPORTS_ALLOWED,
    MEMOS_ALLOWED,
    NAMES_ALLOWED,
    floats,
    impure_imports,
    impure_names,
)
from tools.archlint.files.shape import (
    LONGER_ALLOWED,
    MOST_LINES,
    too_long,
    undocumented,
    unexplained,
)
from tools.archlint.imports.direction import MAY_IMPORT, MOST_ROOMS, many_rooms, wrong_way
from tools.archlint.source import ROOT, Finding, Source, parse, sources
from tools.archlint.texts.words import HOSTS, UNFINISHED, banned_words, plain_words, tracked

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package

Rule = Callable[[list[Source]], Iterator[Finding]]
ENGINE = "src/ganglion/engine/bad.py"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    assert [str(found) for found in rule(sources())] == []


def test_no_file_of_the_project_holds_a_banned_word() -> None:
    assert [str(found) for found in banned_words(tracked())] == []


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import time",
        "import random as r",
        "import numpy.random",
        "import threading, math",
        "from socket import socket",
        "from pathlib import Path",
        "from logging import getLogger",
        "from ganglion.server import app",
        "from ganglion import ledger",
        "from ..server import app",
        "def f():\n    import secrets",
    ],
)
def test_an_impure_import_in_the_engine_is_found(line: str) -> None:
    assert len(list(impure_imports([parse(ENGINE, line)]))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "from collections.abc import Sequence",
        "from ganglion.model.fleet.node import Node",
        "from ganglion.engine import tree",
        "from .tree import Tree",
    ],
)
def test_pure_imports_in_the_engine_are_welcome(line: str) -> None:
    assert list(impure_imports([parse(ENGINE, line)])) == []


def test_other_rooms_may_import_what_the_engine_may_not() -> None:
    assert list(impure_imports([parse("src/ganglion/server/app.py", "import os")])) == []


def test_the_time_as_data_is_no_impure_name() -> None:
    assert list(impure_names([parse(ENGINE, "later = self.now + wait\nstate.load(1)")])) == []


@pytest.mark.parametrize("line", ["x = 0.5", "y = a / b", "a /= b", "float(x)", "np.float64"])
def test_floating_point_in_the_engine_is_found(line: str) -> None:
    assert len(list(floats([parse(ENGINE, line)]))) == 1


def test_floating_point_outside_the_engine_is_fine() -> None:
    assert list(floats([parse("benchmarks/x.py", "x = 1 / 2")])) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/ganglion/model/x.py", "from ganglion.engine import cycle"),
        ("src/ganglion/ledger/x.py", "import ganglion.server.app"),
        ("src/ganglion/specs/x.py", "from ganglion.engine.state.cluster_state import ClusterState"),
        ("src/ganglion/specs/x.py", "from ganglion.compat.sbatch import read_script"),
        ("src/ganglion/client/x.py", "from ganglion.server import app"),
        ("src/ganglion/server/x.py", "from ganglion.cli.main import main"),
        ("src/ganglion/cellar/x.py", ""),
        ("src/ganglion/cli/x.py", "from benchmarks.registry import load"),
        ("benchmarks/x.py", "from ganglion.server.app import app"),
    ],
)
def test_an_import_against_the_direction_is_found(path: str, line: str) -> None:
    assert len(list(wrong_way([parse(path, line)]))) == 1


def test_the_import_rules_have_no_circle() -> None:
    reached = {room: set(allowed) for room, allowed in MAY_IMPORT.items()}
    for _ in MAY_IMPORT:
        for allowed in reached.values():
            allowed |= {far for near in allowed for far in reached[near]}
    assert [room for room, allowed in reached.items() if room in allowed] == []


def test_a_room_too_many_of_the_engine_is_found() -> None:
    rooms = [parse(f"src/ganglion/engine/r{n}/x.py", "") for n in range(MOST_ROOMS - 1)]
    last = [parse("src/ganglion/engine/last.py", ""), parse("src/ganglion/engine/__init__.py", "")]
    assert list(many_rooms([*rooms, *last])) == []
    one = parse("src/ganglion/engine/more.py", "")
    assert "21 rooms" in str(*many_rooms([*rooms, *last, one]))


def test_a_file_that_is_too_long_is_found() -> None:
    text = '"""Long."""\n' + "x = 1\n" * MOST_LINES
    assert len(list(too_long([parse(ENGINE, text)]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        '"""M."""\ndef f(): ...',
        '"""M."""\nclass C:\n    """C."""\n    def m(self): ...',
    ],
)
def test_a_missing_docstring_is_found(text: str) -> None:
    assert len(list(undocumented([parse(ENGINE, text)]))) == 1


def test_private_names_need_no_docstring() -> None:
    assert list(undocumented([parse(ENGINE, '"""M."""\ndef _f(): ...')])) == []


@pytest.mark.parametrize("mark", ["noqa", "noqa: E501", "type: ignore[arg-type]"])
def test_a_suppressed_warning_needs_its_reason(mark: str) -> None:
    bare, told = (
        parse(ENGINE, f"x = 1  # {mark}"),
        parse(ENGINE, f"x = 1  # {mark}  # the API lies"),
    )
    assert (len(list(unexplained([bare]))), list(unexplained([told]))) == (1, [])


@pytest.mark.parametrize("word", [*HOSTS, *UNFINISHED])
def test_a_banned_word_is_found(tmp_path: Path, word: str) -> None:
    (tmp_path / "a.md").write_text(f"fine\nsee {word} here\n", "utf-8")
    found = list(banned_words([tmp_path / "a.md"], tmp_path))
    assert [(each.path, each.line) for each in found] == [("a.md", 2)]


def test_a_picture_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\xff\xfe")
    assert list(banned_words([tmp_path / "a.png"], tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""Nobody may stop it."""', 1),
        ('"""M."""\nLIMIT = 3\n"""So\nmany are kept."""', 3),
        ('"""M."""\n\ndef f():\n    """F.\n\n    A gang is told to stop.\n    """', 6),
        ('"""M."""\nx = 1  # whoever asks', 2),
        ('"""M."""\n# pods come to count', 2),
        ('"""M."""\nraise ValueError("nobody leads")', 2),
        ('"""M."""\nhint = f"whoever runs {x} ends"', 2),
    ],
)
def test_a_vague_word_in_prose_is_found(text: str, line: int) -> None:
    assert [each.line for each in plain_words([parse(ENGINE, text)])] == [line]


@pytest.mark.parametrize(
    "text", ['NOBODY = "nobody"', '"""The message `x` has so manyfold uses."""']
)
def test_names_values_and_parts_of_words_may_look_vague(text: str) -> None:
    assert list(plain_words([parse(ENGINE, text)])) == []


def test_exceptions_name_modules_and_functions_that_exist_and_give_a_reason() -> None:
    by_name = {source.module: source for source in sources()}
    assert all((ROOT / path).is_file() and why for path, why in LONGER_ALLOWED.items())
    by_module = [*FLOATS_ALLOWED.items(), *IMPORTS_ALLOWED.items(), *NAMES_ALLOWED.items()]
    assert all(module in by_name and why for (module, _), why in by_module)
    for (module, kind), why in PROSE_ALLOWED.items():
        assert f"class {kind}(" in by_name[module].text and why, (module, kind)
    for (module, function), why in [*MEMOS_ALLOWED.items(), *ORDER_ALLOWED.items()]:
        assert f"def {function}(" in by_name[module].text, (module, function)
        assert why
