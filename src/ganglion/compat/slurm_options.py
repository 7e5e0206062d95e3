"""Options of `#SBATCH` lines: their names, whether they take a value, and how to split a line.

Names and short forms follow the sbatch manual page of Slurm 24.05.
"""

import shlex
from collections.abc import Iterator
from io import StringIO
from itertools import takewhile

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.specs.wording import short, show

SHORT = {
    "A": "account",
    "a": "array",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
FLAGS = {
    "contiguous",
    "disable-stdout-job-summary",
    "hold",
    "ignore-pbs",
    "no-requeue",
    "overcommit",
    "oversubscribe",
    "parsable",
    "quiet",
    "reboot",
    "requeue",
    "spread-job",
    "test-only",
    "use-min-nodes",
    "verbose",
    "wait",
}
"""Options that take no value."""

MAYBE = {"exclusive", "no-kill", "nice", "get-user-env", "propagate", "resv-ports"}
"""Options whose value may be left out, and otherwise follows `=`."""

OTHERS = (
    "account",
    "acctg-freq",
    "array",
    "batch",
    "bb",
    "bbf",
    "begin",
    "chdir",
    "cluster-constraint",
    "clusters",
    "comment",
    "constraint",
    "container",
    "container-id",
    "container-image",
    "container-mounts",
    "container-workdir",
    "core-spec",
    "cores-per-socket",
    "cpu-freq",
    "cpus-per-gpu",
    "cpus-per-task",
    "deadline",
    "delay-boot",
    "dependency",
    "distribution",
    "error",
    "exclude",
    "export",
    "export-file",
    "extra",
    "extra-node-info",
    "gid",
    "gpu-bind",
    "gpu-freq",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "gres",
    "gres-flags",
    "hint",
    "input",
    "job-name",
    "kill-on-invalid-dep",
    "licenses",
    "mail-type",
    "mail-user",
    "mcs-label",
    "mem",
    "mem-bind",
    "mem-per-cpu",
    "mem-per-gpu",
    "mincpus",
    "network",
    "nodefile",
    "nodelist",
    "nodes",
    "ntasks",
    "ntasks-per-core",
    "ntasks-per-gpu",
    "ntasks-per-node",
    "ntasks-per-socket",
    "open-mode",
    "output",
    "partition",
    "power",
    "prefer",
    "priority",
    "profile",
    "qos",
    "reservation",
    "segment",
    "signal",
    "sockets-per-node",
    "stepmgr",
    "switches",
    "thread-spec",
    "threads-per-core",
    "time",
    "time-min",
    "tmp",
    "tres-bind",
    "tres-per-task",
    "uid",
    "wait-all-nodes",
    "wckey",
    "wrap",
)
KNOWN = frozenset(OTHERS) | FLAGS | MAYBE
"""Every long option."""

MARK = "#SBATCH"


class Option(Struct, frozen=True):
    """One option as written.

    Attributes:
        name: long name without dashes, known or not.
        value: its value; empty = none.
        line: line of the script.
        column: 1-based column of that line where it starts.
    """

    name: str
    value: str
    line: int
    column: int


def options(text: str, file: str, problems: list[FieldError]) -> list[Option]:
    """Read the `#SBATCH` lines before the first command of a script.

    Args:
        text: the script.
        file: what messages call it.
        problems: gathers lines that cannot be split into options, or lack a value.
    """
    found: list[Option] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith(MARK) and not line[len(MARK) :][:1].strip():
            try:
                found += _Line(line, number, file).options()
            except FieldError as error:
                problems.append(error)
    return found


class _Line:
    def __init__(self, text: str, number: int, file: str) -> None:
        self.number, self.file, self.column = number, file, 1
        # Only a word of its own starts a comment: image names contain the sign too.
        words = takewhile(lambda word: not word[0].startswith("#"), self._split(text))
        self.words = list(words)

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        """Split a line as `shlex.split` does, into words and their columns."""
        stream = StringIO(text[len(MARK) :])
        reader = shlex.shlex(stream, posix=True)
        reader.whitespace_split, reader.commenters = True, ""
        while True:
            rest = text[(start := len(MARK) + stream.tell()) :]
            column = start + len(rest) - len(rest.lstrip(reader.whitespace)) + 1
            try:
                word = reader.get_token()
            except ValueError:
                self.column = column
                raise self.wrong("a quotation is not closed", MARK) from None
            if word is None:
                return
            yield word, column

    def wrong(self, problem: str, key: str) -> FieldError:
        return FieldError(problem, key=key, file=self.file, line=self.number, column=self.column)

    def options(self) -> list[Option]:
        found = []
        while self.words:
            word, self.column = self.words.pop(0)
            if not word.startswith("-") or not word.strip("-"):
                raise self.wrong(f"{show(word)} is not an option", MARK)
            found.append(self._long(word) if word.startswith("--") else self._short(word))
        return found

    def _long(self, word: str) -> Option:
        name, given, value = word[2:].partition("=")
        follows = bool(self.words) and not self.words[0][0].startswith("-")
        if not given and (name in KNOWN - FLAGS - MAYBE or (name not in KNOWN and follows)):
            value = self._next(word)
        return Option(name, value, self.number, self.column)

    def _short(self, word: str) -> Option:
        name = SHORT.get(word[1], "")
        if not name:
            raise self.wrong(f"there is no option {show(word[:2])}", MARK)
        value = word[2:].removeprefix("=")
        if not value and name not in FLAGS | MAYBE:
            value = self._next(word)
        return Option(name, value, self.number, self.column)

    def _next(self, word: str) -> str:
        if not self.words:
            raise self.wrong("needs a value", short(word))
        return self.words.pop(0)[0]
