"""Runs the console blocks of a page as they stand, in a fresh home, and compares what they show.

A block is fenced by ```console. Lines that begin with `$ ` are commands; a trailing backslash and
a here-document go on over the next lines. The lines after a command are what it writes; where
there are none only its exit status counts: 0, or another one where an `Error:` is shown. `...`
and `…` match any text, alone on a line any lines. A command that ends with `&`, before a
comment at most, runs on until the session ends. `export NAME=VALUE`, a command of its own, counts
for all that follow.

A block that cannot be run here has a comment in front of it that says why:
`<!-- not run: it downloads packages -->`. A block of YAML, Python or TOML that begins with a
comment of a path alone, as `# policy.yaml`, is that file.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.forking import shell_command
from tests.ports import unused
from tests.server.process import end_all_of

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60
CLUSTER_PAGES = (
    "docs/kubernetes.md",
    "docs/install.md",
    "docs/kubernetes-workspaces.md",
    "docs/tutorials/first-cluster.md",
    "docs/runbooks/kubernetes.md",
    "charts/ganglion/README.md",
)
"""Pages whose commands talk to a cluster."""
ANY = "\0"
"""Placeholder of `...` while a line is made a pattern."""

_BLOCK = re.compile(r"(?:<!-- not run: (.*?) -->\n+)?^```console\n(.*?)^```$", re.M | re.S)
_FILE = re.compile(r"^```(?:yaml|python|toml)\n# (\S+\.(?:ya?ml|py|toml))\n(.*?)^```$", re.M | re.S)
_EXPORT = re.compile(r"export (\w+)=.*")
_BEHIND = re.compile(r"(.*?)&\s*(?:#.*)?", re.S)
_VARYING = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(?:\.\d+)?Z?"), "TIME"),
    (
        re.compile(
            r"\b(?:in |for )?(?:\d+d ?)?(?:\d+h ?)?(?:\d+m ?)?\d+(?:\.\d+)?(?:ms|s|m|h|d)\b"
        ),
        "AGE",
    ),
    (re.compile(r"\b[\d.]+ GPU-(?:second|minute|hour)s?\b"), "WORK"),
    (re.compile(r"\b([a-z][a-z-]*)-\d+\b"), r"\1-N"),
    (re.compile(r"  +"), "  "),
)


class Command(NamedTuple):
    """A command and what the page says that it writes; empty = nothing is shown."""

    line: int
    text: str
    shown: list[str]


class Block(NamedTuple):
    """One block; `why_not` says why it is not run, empty = it is."""

    line: int
    commands: list[Command]
    why_not: str


def pages() -> list[str]:
    """Every page with a console block, by its path."""
    folders = (ROOT / name for name in ("charts", "docs", "examples"))
    found = [*ROOT.glob("*.md"), *(page for each in folders for page in sorted(each.rglob("*.md")))]
    return [
        str(each.relative_to(ROOT)) for each in found if "```console" in each.read_text("utf-8")
    ]


def blocks(text: str) -> list[Block]:
    """The console blocks of a page."""
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Block(line, _commands(match[2].splitlines(), line), match[1] or ""))
    assert len(found) == text.count("```console\n"), "a block is not closed"
    return found


def _commands(lines: list[str], first: int) -> list[Command]:
    found: list[Command] = []
    rest = list(enumerate(lines, first))
    while rest:
        number, line = rest.pop(0)
        if not line.startswith("$ "):
            assert found, f"line {number}: output before the first command"
            found[-1].shown.append(line)
            continue
        text = line[2:]
        here = re.search(r"<<'?(\w+)'?", text)
        while text.endswith("\\") or (here and text.splitlines()[-1] != here[1]):
            text += "\n" + rest.pop(0)[1]
        found.append(Command(number, text, []))
    return found


class Session:
    """A person's shell: a folder, a home, ports of its own.

    Args:
        folder: empty.
        page: text of the page; its files are written.
        programs: paths of further programs, by name.
    """

    def __init__(self, folder: Path, page: str, programs: Mapping[str, str] | None = None) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        # What a checkout has; a copy of what commands write beside.
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        for name in ("charts", "deploy"):
            (self.folder / name).symlink_to(ROOT / name)
        for name, text in _FILE.findall(page):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        port = unused()
        self._ports = {"7077": str(port), "7078": str(port + 1)}
        self._env = {
            "HOME": str(folder),
            "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "120",
            "USER": "ada",
            # pip installs what is here, into a folder of this session.
            "PIP_TARGET": str(folder / "site"),
            "PYTHONPATH": f"{folder / 'site'}:{ROOT / 'src'}",
            **dict.fromkeys(("PIP_NO_INDEX", "PIP_NO_DEPS", "PIP_DISABLE_PIP_VERSION_CHECK"), "1"),
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the value of `build_isolation`
        }
        self._behind: list[subprocess.Popen[bytes]] = []
        self._shim(folder / "bin" / "ganglion")
        for name, path in (programs or {}).items():
            (folder / "bin" / name).symlink_to(path)

    def _shim(self, path: Path) -> None:
        """`up` and `scheduler` listen where the page says, on ports of this session."""
        api, services = self._ports.values()
        path.parent.mkdir()
        real, forked = f"{sys.executable} -m ganglion", " ".join(shell_command())
        more = {
            "up": f"--port {api} --services-port {services}",
            "scheduler": f"--listen 127.0.0.1:{api}",
        }
        cases = "".join(
            f'  {name}) shift; exec $run {name} {ports} "$@" ;;\n' for name, ports in more.items()
        )
        # What pip has installed since is known to those only that look for it as they start.
        run = f"if [ -e {self._env['PIP_TARGET']} ]; then run='{real}'; else run='{forked}'; fi"
        path.write_text(f'#!/bin/sh\n{run}\ncase "$1" in\n{cases}esac\nexec $run "$@"\n')
        path.chmod(0o700)

    def run(self, command: str) -> tuple[int, str]:
        """Exit status, and everything that it wrote, with the ports that the page names."""
        for usual, ours in self._ports.items():
            command = command.replace(f":{usual}", f":{ours}")
        if behind := _BEHIND.fullmatch(command):
            return self._run_behind(behind[1])
        exported = _EXPORT.fullmatch(command)
        if exported:
            command = f'{command}; printf %s "${exported[1]}"'
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        if exported:
            self._env[exported[1]] = done.stdout
            return done.returncode, ""
        text = done.stdout
        for usual, ours in self._ports.items():
            text = text.replace(f":{ours}", f":{usual}")
        return done.returncode, text

    def _run_behind(self, command: str) -> tuple[int, str]:
        with (self.folder / f"behind-{len(self._behind)}.log").open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._behind.append(process)
        return 0, ""

    def interrupt(self) -> None:
        """End what runs behind the shell, as Ctrl-C does, and look for a traceback of it."""
        for number, process in enumerate(self._behind):
            process.send_signal(signal.SIGINT)
            process.wait(DEADLINE_S)
            said = (self.folder / f"behind-{number}.log").read_text("utf-8")
            assert "Traceback" not in said, said
        self._behind.clear()

    def close(self) -> None:
        """End what runs, then the server."""
        self.interrupt()
        for name in ("GANGLION_URL", "GANGLION_TOKEN"):
            self._env.pop(name, None)  # the owner ends the server
        if (Path(self._env["HOME"]) / ".ganglion" / "server.json").exists():
            self.run("ganglion cancel --all --yes --force; ganglion down")
        end_all_of(Path(self._env["HOME"]) / ".ganglion")


def play(session: Session, page: str, before: Mapping[tuple[str, int], Sequence[str]]) -> None:
    """Run the blocks of a page.

    Args:
        session: where.
        page: its path.
        before: (page, number of a block) -> commands that lead to the state in which it begins;
            `^C` ends what runs behind the shell.
    """
    for number, block in enumerate(blocks((ROOT / page).read_text("utf-8"))):
        if block.why_not:
            continue
        for line in before.get((page, number), ()):
            if line == "^C":
                session.interrupt()
            else:
                check(session, Command(0, line, []))
        for command in block.commands:
            check(session, command)


def check(session: Session, command: Command) -> None:
    """Run a command; raises AssertionError that shows both sides when the page is not true."""
    code, written = session.run(command.text)
    fails = any(line.startswith("Error:") for line in command.shown)
    where = f"line {command.line}: $ {command.text}"
    assert (code != 0) == fails, f"{where}\nexit status {code}\n{written}"
    if command.shown:
        assert _pattern(command.shown).fullmatch(_plain(written)), (
            f"{where}\n--- the page shows\n"
            + "\n".join(command.shown)
            + f"\n--- written\n{written}"
        )


def _plain(text: str) -> str:
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _pattern(shown: list[str]) -> re.Pattern[str]:
    lines = [re.sub(r"\.\.\.|…", ANY, line.rstrip()) for line in shown]
    text = _plain("\n".join(lines))
    end = r"(?:\n|\Z)"
    return re.compile(
        "".join(
            rf"(?:[^\n]*{end})*?"
            if line.strip() == ANY
            else "[^\n]*".join(re.escape(part) for part in line.split(ANY)) + end
            for line in text.split("\n")
        )
    )
