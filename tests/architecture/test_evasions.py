"""Ways around the rules for what decides, each of which is caught."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from tools.archlint.decisions.order import set_order
from tools.archlint.decisions.prose import prose_decides
from tools.archlint.decisions.purity import hidden_state, impure_imports, impure_names
from tools.archlint.imports.direction import circles, wrong_way
from tools.archlint.source import Finding, Source, parse

Files = Mapping[str, str]
"""Path below `src/ganglion` -> text."""

ENGINE = "engine/bad.py"


def found(rule: Callable[[list[Source]], Iterator[Finding]], files: Files) -> list[str]:
    """The paths in which a rule finds something, without the common start."""
    sources = [parse(f"src/ganglion/{path}", text) for path, text in files.items()]
    return [each.path.removeprefix("src/ganglion/") for each in rule(sources)]


@pytest.mark.parametrize(
    ("files", "where"),
    [
        pytest.param(
            {"model/x.py": "import time as t", ENGINE: "from ganglion.model.x import t\nt.time()"},
            ["model/x.py", ENGINE],
            id="clock through the model",
        ),
        pytest.param(
            {"model/x.py": "import time as t", "model/y.py": "from ganglion.model.x import t as u"},
            ["model/x.py", "model/y.py"],
            id="alias of an alias",
        ),
        pytest.param({ENGINE: "import numpy.random as r"}, [ENGINE], id="submodule"),
        pytest.param({ENGINE: "from numpy import random"}, [ENGINE], id="part of a pure module"),
        pytest.param({ENGINE: "from datetime import datetime as d"}, [], id="a pure type"),
        pytest.param({ENGINE: "from time import *"}, [ENGINE], id="star"),
        pytest.param({ENGINE: "def f():\n    import secrets"}, [ENGINE], id="in a function"),
        pytest.param(
            {ENGINE: "try:\n    import os\nexcept E:\n    os = 0"}, [ENGINE], id="in a try"
        ),
        pytest.param({"lifecycle/x.py": "import structlog"}, ["lifecycle/x.py"], id="logging"),
        pytest.param(
            {"worlds/kubernetes/attempts/x.py": "import structlog"},
            ["worlds/kubernetes/attempts/x.py"],
            id="logging in what decides for a cluster",
        ),
        pytest.param(
            {"worlds/kubernetes/feasibility/x.py": "from random import choice"},
            ["worlds/kubernetes/feasibility/x.py"],
            id="chance in a filter",
        ),
        pytest.param(
            {
                "worlds/kubernetes/writes/clock.py": "import time",
                "worlds/kubernetes/node_discovery/x.py": (
                    "from ganglion.worlds.kubernetes.writes.clock import time"
                ),
            },
            ["worlds/kubernetes/node_discovery/x.py"],
            id="clock of a module that acts",
        ),
    ],
)
def test_an_impure_import_is_caught(files: Files, where: list[str]) -> None:
    assert found(impure_imports, files) == where


@pytest.mark.parametrize(
    "text",
    [
        "import numpy as n\nn.random.rand()",
        "import numpy as n\nr = n.random",
        "import numpy\ndef f():\n    return numpy.random.default_rng(1)",
        "from datetime import datetime as d\nd.now()",
        "import datetime\nclock = datetime.datetime.now",
        "from datetime import date\nlater = date\nlater.today()",
        "from datetime import datetime\ngetattr(datetime, 'now')()",
        "print(1)",
        "x = input()",
        "reader = open",
        "sorted(gangs, key=id)",
        "sorted(gangs, key=hash)",
        "gang.__hash__()",
        "__builtins__['open']",
        "().__class__.__base__.__subclasses__()",
        "f.__globals__['time']",
        "array.tofile('x')",
        "exec('import time')",
        "__import__('time')",
    ],
)
def test_an_impure_name_is_caught(text: str) -> None:
    assert found(impure_names, {ENGINE: text})


@pytest.mark.parametrize(
    "text",
    [
        "SEEN = {}",
        "SEEN: dict[str, int] = {}",
        "SEEN = []",
        "SEEN = set()",
        "from collections import defaultdict as d\nSEEN = d(list)",
        "import itertools\nNUMBERS = itertools.count()",
        "class C:\n    seen: list[int] = []",
        "def f(x, cache={}): ...",
        "def f(x, *, cache=[]): ...",
        "f = lambda x, cache=dict(): x",
        "count = 0\ndef f():\n    global count\n    count += 1",
        "from functools import lru_cache\n@lru_cache\ndef f(x): ...",
        "import functools as t\n@t.lru_cache(maxsize=None)\ndef f(x): ...",
        "from functools import cache as c\n@c\ndef f(x): ...",
    ],
)
def test_state_between_calls_is_caught(text: str) -> None:
    assert found(hidden_state, {ENGINE: text}) == [ENGINE]


@pytest.mark.parametrize(
    "text",
    [
        "from collections.abc import Mapping\nWORDS: Mapping[str, int] = {'a': 1}",
        "from msgspec import Struct\nclass C(Struct):\n    seen: list[int] = []",
        "ORDER = ('a', 'b')",
        "def f():\n    seen = {}",
    ],
)
def test_what_no_caller_can_change_is_no_state(text: str) -> None:
    assert found(hidden_state, {ENGINE: text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "for x in {'a', 'b'}: ...",
        "for x in set(names): ...",
        "for x in set[str](names): ...",
        "for x in left.keys() & right.keys(): ...",
        "found = {each for each in names}\nfor x in found: ...",
        "found: set[str] = made()\nfor x in found: ...",
        "def f(names: frozenset[str]) -> list[str]:\n    return [x for x in names]",
        "def f(names: set[str]) -> tuple[str, ...]:\n    return tuple(names)",
        "def f(names: set[str]) -> str:\n    return next(iter(names))",
        "def f(names: set[str]) -> str:\n    return names.pop()",
        "def f(names: set[str]) -> str:\n    return ','.join(names)",
        "def f(names: set[str]) -> list[str]:\n    return [*names, 'z']",
        "def f(names: set[str]) -> dict[str, int]:\n    return {x: 1 for x in names}",
        "def f(names: set[str]) -> dict[str, None]:\n    return dict.fromkeys(names)",
        "def f(a: set[str], b: set[str]) -> None:\n    for x in a - b: ...",
        "def f(names: set[str]) -> str:\n    return min(names, key=len)",
        "def g() -> set[str]: ...\ndef f() -> None:\n    for x in g(): ...",
        "class C:\n    names: set[str]\ndef f(c: C) -> None:\n    for x in c.names: ...",
    ],
)
def test_a_walk_through_a_set_is_caught(text: str) -> None:
    assert found(set_order, {ENGINE: text}) == [ENGINE]


@pytest.mark.parametrize(
    "text",
    [
        "for x in sorted({'a', 'b'}): ...",
        "for x in dict.fromkeys(names): ...",
        "def f(names: set[str]) -> bool:\n    return any(len(x) > 1 for x in names)",
        "def f(names: set[str]) -> set[str]:\n    return {x.upper() for x in names}",
        "def f(names: set[str]) -> frozenset[str]:\n    return frozenset(map(str, names))",
        "def f(names: list[str]) -> str:\n    return names.pop()",
    ],
)
def test_a_walk_whose_order_is_known_or_does_not_matter_is_fine(text: str) -> None:
    assert found(set_order, {ENGINE: text}) == []


def test_one_world_may_not_import_another() -> None:
    files = {"worlds/kubernetes/x.py": "from ganglion.worlds.local.ranks.env import split"}
    assert found(wrong_way, files) == ["worlds/kubernetes/x.py"]


def test_a_circle_is_caught_though_it_closes_for_types_only() -> None:
    files = {
        "specs/a.py": "import ganglion.specs.b",
        "specs/b.py": "from ganglion.specs import c",
        "specs/c.py": (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from ganglion.specs.a import A"
        ),
        "specs/d.py": "from ganglion.specs.a import A",
    }
    sources = [parse(f"src/ganglion/{path}", text) for path, text in files.items()]
    (circle,) = circles(sources)
    assert circle.message.endswith("ganglion.specs.a, ganglion.specs.b, ganglion.specs.c")


IMPORT = "from ganglion.model.causes import sentence\n"


@pytest.mark.parametrize(
    "text",
    [
        "class E(Struct):\n    cause: str",
        "class E(Struct):\n    cause: str | None = None",
        "class R:\n    held_for: Optional[str] = None",
        "def f(cause): return cause.startswith('cancel')",
        "def f(e): return e.cause.partition(' for ')",
        "def f(e): return str(e.cause) == 'cancelled'",
        "def f(e): return f'{e.cause}' in WORDS",
        "def f(e): return 'cancel' in '{}'.join([]) + str(e.cause)",
        "def f(e):\n    said = str(e.cause)\n    return said.startswith('cancel')",
        "def f(e):\n    a = str(e.cause)\n    b = a.strip()\n    return b == 'cancelled'",
        "def f(e):\n    if (said := str(e.cause)) != 'x': ...",
        "def f(e):\n    match str(e.cause):\n        case 'cancelled': ...",
        "def f(e): return ENDS[str(e.cause)]",
        "def f(e): return ENDS.get(str(e.cause))",
        "def f(e): return re.match('cancel', str(e.cause))",
        "def f(e): return e.cause.text.startswith('lost')",
        "def f(e): return e.cause.__str__() == 'x'",
        "def f(e): return str(e.cause)[:6] == 'cancel'",
        f"{IMPORT}def f(e): return sentence(e.cause) == 'cancelled'",
        f"{IMPORT}def f(e): return sentence(e).lower().startswith('cancel')",
        "from ganglion.model.causes import sentence as s\ndef f(e): return s(e) == 'x'",
        f"{IMPORT}good = [e for e in es if 'lost' in sentence(e.why)]",
        f"{IMPORT}by = lambda e: sentence(e) > 'a'",
    ],
)
@pytest.mark.parametrize("part", ["model", "engine", "worlds/kubernetes/attempts", "server"])
def test_a_decision_by_the_words_of_a_cause_is_caught(part: str, text: str) -> None:
    assert set(found(prose_decides, {f"{part}/bad.py": text})) == {f"{part}/bad.py"}


@pytest.mark.parametrize(
    "text",
    [
        "def f(e): return e.cause.kind is CauseKind.MOVED",
        "def f(e): return e.cause == other",
        "def f(e): return e.cause.gang in wards",
        "class E(Struct):\n    cause: Cause | None = None",
        f"{IMPORT}def f(e): return Ended(message=sentence(e.cause))",
        f"{IMPORT}def f(e): return '; '.join([sentence(e.cause), 'and so on'])",
        "def f(name): return str(name) == 'x'",
    ],
)
def test_the_kind_of_a_cause_may_decide_and_its_words_may_be_shown(text: str) -> None:
    assert found(prose_decides, {ENGINE: text}) == []
