"""What takes long to make is kept for the next checkout, and is a copy there."""

import os
import sys
from pathlib import Path

import pytest
from tools.checkout import kept
from tools.checkout.kept import forget, keep, main, take


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where all is kept."""
    monkeypatch.setattr(kept, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def test_a_folder_that_is_not_there_is_made_of_what_was_kept(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    (first / "file").write_text("one")
    assert not take("types", second)
    keep("types", first)
    assert take("types", second)
    (second / "file").write_text("two")
    assert not take("types", second)
    assert take("types", tmp_path / "third")
    assert (tmp_path / "third" / "file").read_text() == "one"


def test_what_is_newer_takes_the_place_of_what_was_kept(tmp_path: Path, cache: Path) -> None:
    for text in ("one", "two"):
        folder = tmp_path / text
        folder.mkdir()
        (folder / "file").write_text(text)
        keep("types", folder)
    take("types", tmp_path / "third")
    assert (tmp_path / "third" / "file").read_text() == "two"
    assert [each.name for each in cache.iterdir()] == ["types"]


def test_versions_that_were_not_used_for_longest_are_removed(cache: Path) -> None:
    for number in range(kept.MOST + 2):
        (cache / f"site-{number}").mkdir(parents=True)
        os.utime(cache / f"site-{number}", (number, number))
    (cache / "other-0").mkdir()
    forget("site")
    left = {each.name for each in cache.iterdir()}
    assert left == {"other-0", *(f"site-{number}" for number in range(2, kept.MOST + 2))}


@pytest.mark.parametrize(("code", "there"), [(0, True), (3, False)])
def test_a_folder_is_kept_only_if_its_command_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, there: bool
) -> None:
    folder = tmp_path / "made"
    script = f"import pathlib, sys; pathlib.Path({str(folder)!r}).mkdir(); sys.exit({code})"
    said = f"pathlib.Path({str(folder / 'file')!r}).write_text('x')"
    script = script.replace("sys.exit", f"{said}; sys.exit")
    monkeypatch.setattr(sys, "argv", ["kept", "types", str(folder), sys.executable, "-c", script])
    assert main() == code
    assert take("types", tmp_path / "other") is there
