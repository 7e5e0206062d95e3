"""The portal is built where that is possible; where not, it is said, and nothing else fails."""

import sys
from pathlib import Path

import pytest
from tools import portal
from tools.portal import Missing, current, digest, environment, main, sources


def test_a_change_of_any_source_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portal, "ROOT", tmp_path)
    page, stamp = tmp_path / "page.tsx", tmp_path / "stamp"
    page.write_text("one")
    stamp.write_text(digest(iter([page])))
    assert current(stamp, digest(iter([page])))
    page.write_text("two")
    assert not current(stamp, digest(iter([page])))
    assert not current(tmp_path / "none", "")


def test_what_the_build_reads_is_among_its_sources() -> None:
    found = {str(each.relative_to(portal.PORTAL)) for each in sources()}
    expected = ("package-lock.json", "index.html", "scripts/finish.mjs", "src/main.tsx")
    assert found.issuperset(expected)


def test_a_machine_without_node_is_told_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match=r"requirements/portal\.txt"):
        environment()


@pytest.mark.parametrize("said", ["v20.20.2", "v22.11.0", ""])
def test_a_node_that_is_too_old_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {said}\n")
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Missing, match=r"is older than 22\.12"):
        environment()


@pytest.mark.parametrize(("words", "status"), [(["--if-possible"], 0), ([], 1)])
def test_a_portal_that_cannot_be_built_is_said_loudly(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    status: int,
) -> None:
    def refuse() -> None:
        raise Missing("no registry")

    monkeypatch.setattr(portal, "test", refuse)
    monkeypatch.setattr(sys, "argv", ["portal", "test", *words])
    assert main() == status
    assert "THE PORTAL IS NOT BUILT AND NOT TESTED: no registry" in capsys.readouterr().err
