"""The console block of docs/daily.md shows what happens."""

import getpass
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/daily.md"
PORT = " --port 0"
"""Another server may have the usual one."""


def steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every command of the first console block, and what is shown below it."""
    block = text.partition("```console\n")[2].partition("```")[0]
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, shown


def test_every_output_on_the_page_is_what_is_printed(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = os.environ | {"GANGLION_HOME": str(tmp_path / "home"), "PATH": path}
    found = list(steps(PAGE.read_text(encoding="utf-8")))
    assert len(found) >= 8
    try:
        for command, shown in found:
            line = command + (PORT if command.startswith("ganglion up") else "")
            done = subprocess.run(
                ["bash", "-c", line], env=env, capture_output=True, text=True, check=False
            )
            if shown:
                printed = [each.rstrip() for each in done.stdout.splitlines()]
                expected = [each.replace("root", getpass.getuser()) for each in shown]
                assert printed == expected, (command, done.stderr)
    finally:
        down = ["ganglion", "down", "--cancel"]
        subprocess.run(down, env=env, capture_output=True, check=False)
