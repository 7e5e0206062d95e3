"""What is started by `python -S` imports the standard library alone, however far away."""

import pytest
from tools.archlint.imports.bare import BARE_ALLOWED, imports_packages_without_site, started
from tools.archlint.source import Modules, parse, sources

from ganglion.worlds.local.attempts import watch
from ganglion.worlds.local.supervision import callers, terminals

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package

STARTER = ("a/starts.py", 'argv = [sys.executable, "-S", "-m", "ganglion.a.started"]')
STARTED = ("a/started.py", "import os\nfrom ganglion.b.far import thing")


def found(*files: tuple[str, str]) -> list[str]:
    made = [parse(f"src/ganglion/{path}", text) for path, text in files]
    return [each.message for each in imports_packages_without_site(made)]


@pytest.mark.parametrize(
    "far",
    [
        "import msgspec",
        "from psutil import Process",
        "def thing():\n    import structlog",
        "from ganglion.c import *",
        "try:\n    import numpy.random\nexcept ImportError:\n    pass",
    ],
)
def test_a_package_that_is_reached_through_other_modules_is_found(far: str) -> None:
    others = (STARTER, STARTED, ("b/far.py", far), ("c/__init__.py", "import httpx2"))
    assert len(found(*others)) == 1
    assert found(*others[1:]) == [], "nothing starts it without site"


def test_the_packages_that_a_module_lies_in_are_imported_too() -> None:
    above = ("b/__init__.py", "import msgspec")
    assert len(found(STARTER, STARTED, above, ("b/far.py", "thing = 1"))) == 1


def test_a_file_that_is_started_by_its_path_is_found() -> None:
    starter = ("a/starts.py", 'from ganglion.b import far\nrun("-S", far.__file__)')
    assert len(found(starter, ("b/far.py", "import msgspec"))) == 1


def test_what_only_type_checkers_import_is_none() -> None:
    far = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import msgspec"
    assert found(STARTER, STARTED, ("b/far.py", far)) == []


def test_every_program_that_is_started_so_is_known() -> None:
    known = started(sources(), Modules(sources()))
    assert known >= {watch.SUPERVISOR, callers.MODULE, terminals.HOLDER[-1]}


def test_every_exception_is_needed() -> None:
    for module, what in BARE_ALLOWED:
        (source,) = (each for each in sources() if each.module == module)
        assert what in {each.module for each in source.imports}
