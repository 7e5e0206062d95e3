"""Long lists on a terminal go through the pager; everything else does not."""

import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

LIST = """
import sys
from ganglion.cli.output.layout import Column
from ganglion.cli.main import cli
from ganglion.cli.options import command, list_output
from ganglion.cli.output.tables import print_pages

@command("x")
@list_output
def x(form):
    pages = ([f"{page}-{n}" for n in range(50)] for page in range(4))
    print_pages(pages, [Column("ID", lambda row: row)], form)

x.main(sys.argv[1:])
"""


@pytest.fixture
def pager(tmp_path: Path) -> Path:
    """A pager that leaves what it was given in a file, and the lines that it is to read."""
    program = tmp_path / "pager"
    program.write_text(f"#!/bin/sh\nhead -n ${{LINES_READ:-1000}} > {tmp_path}/paged\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def listed(*args: str, rows: int = 24, **environ: str) -> str:
    """What a terminal of this number of rows shows of a list of 200."""
    leader, follower = pty.openpty()
    given = os.environ | {"COLUMNS": "80", "LINES": str(rows), "NO_COLOR": "1"} | environ
    with os.fdopen(leader, "rb", 0) as screen:
        process = subprocess.Popen(
            [sys.executable, "-c", LIST, *args], stdout=follower, stdin=follower, env=given
        )
        os.close(follower)
        seen = b""
        try:
            while part := screen.read(65_536):
                seen += part
        except OSError:
            pass  # the terminal was closed by the process that ended
        assert process.wait(30) == 0
    return seen.decode().replace("\r\n", "\n")


def test_what_is_longer_than_the_screen_is_paged(pager: Path) -> None:
    assert listed(PAGER=str(pager)) == ""
    paged = (pager.parent / "paged").read_text()
    assert paged.splitlines()[:2] == ["ID", "0-0"]
    assert len(paged.splitlines()) == 201


def test_a_person_who_leaves_the_pager_has_seen_enough(pager: Path) -> None:
    assert listed(PAGER=str(pager), LINES_READ="2") == ""
    assert (pager.parent / "paged").read_text() == "ID\n0-0\n"


@pytest.mark.parametrize(
    ("args", "rows", "chosen"),
    [
        (["--no-pager"], 24, "mine"),
        ([], 300, "mine"),
        ([], 24, "cat"),
        ([], 24, ""),
        ([], 24, "/no/such/program"),
        (["--csv"], 24, "mine"),
    ],
)
def test_the_pager_is_left_out_where_it_is_not_wanted(
    pager: Path, args: list[str], rows: int, chosen: str
) -> None:
    shown = listed(*args, rows=rows, PAGER=str(pager) if chosen == "mine" else chosen)
    assert len(shown.splitlines()) == 201
    assert not (pager.parent / "paged").exists()


def test_a_pipe_gets_all_of_it_at_once(pager: Path) -> None:
    environ = os.environ | {"PAGER": str(pager)}
    done = subprocess.run(
        [sys.executable, "-c", LIST], capture_output=True, text=True, check=True, env=environ
    )
    assert (len(done.stdout.splitlines()), (pager.parent / "paged").exists()) == (201, False)
