"""Names that mean one thing, small files with one importer, crowded folders: each way is caught."""

import re
from pathlib import Path

import pytest
from tools.archlint.files.classes import named_twice
from tools.archlint.files.classes_left import TWICE
from tools.archlint.files.layout import crowded, crowded_beside, fragments
from tools.archlint.imports.folders import FOLDERS
from tools.archlint.source import ROOT, Source, parse, sources
from tools.archlint.texts.words import tracked

pytestmark = pytest.mark.xdist_group("sources")  # one process parses the package


def project(**texts: str) -> list[Source]:
    """Sources by module below the package, with `__` for dots."""
    return [
        parse(f"src/ganglion/{name.replace('__', '/')}.py", text) for name, text in texts.items()
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class Place: ...",
        "if True:\n    class Place: ...",
        "class Outer:\n    class Place: ...",
        "def make():\n    class Place: ...",
        "Place = NamedTuple('Place', [('at', int)])",
        "Place = enum.Enum('Place', 'A B')",
        "Place = type('Place', (), {})",
        "Place = NewType('Place', int)",
        "class Place(Struct, Generic[T]): ...",
    ],
)
def test_a_class_name_that_means_two_things_is_found(text: str) -> None:
    files = project(model__place="class Place: ...", server__x=text)
    assert [each.path for each in named_twice(files, {})] == ["src/ganglion/server/x.py"]


@pytest.mark.parametrize(
    "text",
    [
        "from ganglion.model.place import Place",
        "class Place(place.Place): ...",
        "class _Place: ...",
        "T = TypeVar('T')",
        "Place = make()",
    ],
)
def test_a_class_name_that_means_one_thing_is_not(text: str) -> None:
    files = project(model__place="class Place: ...\nT = TypeVar('T')", server__x=text)
    assert list(named_twice(files, {})) == []


def test_a_reason_for_a_name_that_is_used_once_is_found() -> None:
    files = project(model__place="class Place: ...", server__x="class Other: ...")
    assert [each.message for each in named_twice(files, {"Place": "why"})] == [
        "Place means one thing: delete its row"
    ]


@pytest.mark.parametrize(
    "importer",
    [
        "from ganglion.server.small import f",
        "from ganglion.server import small",
        "import ganglion.server.small",
        "import ganglion.server.small as s",
        "def g():\n    from ganglion.server.small import f",
        "if TYPE_CHECKING:\n    from ganglion.server.small import f",
    ],
)
@pytest.mark.parametrize("place", ["server__large", "server__folder____init__"])
def test_a_small_file_with_one_importer_is_found(importer: str, place: str) -> None:
    files = project(server__small="def f(): ...", **{place: importer})
    assert [each.path for each in fragments(files, {})] == ["src/ganglion/server/small.py"]


def test_a_small_file_with_two_importers_or_none_stands() -> None:
    line = "from ganglion.server.small import f"
    assert list(fragments(project(server__small="def f(): ...", a=line, b=line), {})) == []
    assert list(fragments(project(server__small="def f(): ..."), {})) == []
    long = "def f(): ...\n" * 40
    assert list(fragments(project(server__small=long, a=line), {})) == []


def test_a_reason_for_a_file_that_needs_none_is_found() -> None:
    found = fragments(project(a="def f(): ..."), {"a": "why"})
    assert [each.message for each in found] == ["a needs no reason: delete its row"]


def test_a_folder_of_more_modules_than_a_subject_has_is_found() -> None:
    files = project(**{f"server__m{n}": "" for n in range(13)}, server____init__="")
    assert [each.path for each in crowded(files)] == ["src/ganglion/server"]
    assert list(crowded(files[:12])) == []


def test_a_crowded_folder_of_tests_or_tools_is_found_and_helpers_of_tests_do_not_count() -> None:
    tools = [f"tools/a/m{n}.py" for n in range(13)]
    helpers = [f"tests/b/m{n}.py" for n in range(13)]
    tests = [f"tests/c/test_{n}.py" for n in range(13)]
    files = [Path("/top", name) for name in (*tools, *helpers, *tests)]
    assert [each.path for each in crowded_beside(files, Path("/top"))] == ["tools/a", "tests/c"]
    assert list(crowded_beside(files[1:-1], Path("/top"))) == []
    assert list(crowded_beside(tracked())) == []


def test_every_row_of_the_tables_says_why() -> None:
    assert all(len(reason) > 10 for reason in TWICE.values())
    assert list(crowded(sources())) == []


def test_the_map_shows_every_room_of_the_engine_in_the_order_of_imports() -> None:
    page = (ROOT / "docs/design.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `engine/` |"))
    assert re.findall(r"`(\w+)`", row) == list(FOLDERS["engine"])


def test_the_walks_of_the_design_name_files_and_words_that_exist() -> None:
    page = (ROOT / "docs/design.md").read_text("utf-8")
    walks = page.partition("Four walks, by name alone:")[2].partition("\n\n")[2].partition("\n\n")
    lines = walks[0].splitlines()
    assert len(lines) == 4
    for line in lines:
        folders = {ROOT / "src/ganglion"}
        for name in re.findall(r"`([\w/]+\.py)`", line):
            found = [folder / name for folder in folders if (folder / name).is_file()]
            assert found, f"{name}: {line}"
            folders |= {above for above in found[0].parents if ROOT in above.parents}
        words = re.findall(r"`([A-Z]\w+)`", line)
        text = "".join(
            path.read_text("utf-8")
            for folder in folders
            for name in re.findall(r"`([\w/]+\.py)`", line)
            if (path := folder / name).is_file()
        )
        assert [word for word in words if f"class {word}(" not in text] == []
