"""Batch scripts with `#SBATCH` lines, read as workload files.

The script itself is run, in the copy that was read, once per task where it calls `srun` (which
then starts its command in place) and otherwise once per node. `SLURM_*` variables are set.
Options without a counterpart become warnings; wrong values are errors that name line and
column, all of them at once.
"""

import re
from collections.abc import Callable
from pathlib import PurePath

from msgspec import Struct

from ganglion.compat import slurm_values as values
from ganglion.compat.slurm_options import KNOWN, MARK, Option, options
from ganglion.compat.slurm_shell import MPI, SRUN, argv
from ganglion.compat.slurm_sizes import Sizes, sizes
from ganglion.model.errors import FieldError, FileError
from ganglion.specs.grammar import parse_slurm_time, print_duration, slug
from ganglion.specs.grammar.words import PRIORITIES
from ganglion.specs.reading.yaml import Data, Document, Path
from ganglion.specs.wording import meant, short, show

MAX_SCRIPT = 120_000
"""Bytes; the system accepts no longer single argument of a program."""

TASK = "array_task_id"
_SBATCH = re.compile(rf"^{MARK}\s", re.MULTILINE)

SILENT = {"requeue", "open-mode", "parsable", "quiet", "verbose", "wait-all-nodes", "ntasks"}
"""Options that need nothing done: Ganglion behaves so anyway, or `slurm_sizes` reads them."""

ADVICE = {
    "output": "output is kept per rank; see `ganglion logs`",
    "error": "output is kept per rank; see `ganglion logs`",
    "partition": "there are no partitions; use a GPU model, labels or a queue",
    "constraint": "write the GPU model into --gres, or `constraints: {labels: ...}` in a file",
    "prefer": "preferences among nodes are not taken over",
    "nodelist": "nodes are not chosen by name; use `constraints: {labels: ...}` in a file",
    "exclude": "nodes are not excluded by name; use `constraints: {avoid: ...}` in a file",
    "time-min": "time limits do not shrink",
    "nice": "lower the priority with `ganglion update --priority`",
    "mail-type": "no mail is sent",
    "mail-user": "no mail is sent",
    "test-only": "use `ganglion submit --dry-run`",
    "wait": "use `ganglion submit --wait`",
}
"""What to do instead of an option that is not honoured."""


class Script(Struct, frozen=True):
    """A script read.

    Attributes:
        document: the workload file that runs it.
        warnings: options that are not honoured, one sentence each.
        problems: options that are malformed or whose values make no sense.
    """

    document: Document
    warnings: tuple[str, ...] = ()
    problems: tuple[FieldError, ...] = ()


def is_script(text: str) -> bool:
    """Whether a text is a script rather than YAML."""
    return text.startswith("#!") or _SBATCH.search(text) is not None


def read_script(text: str, name: str = "") -> Script:
    """Read a batch script.

    Args:
        text: the script.
        name: what to call it in messages and in `$0`.

    Raises:
        FileError: the script is too long to be carried along, or has DOS line ends.
    """
    if len(text.encode()) > MAX_SCRIPT:
        hint = "let a short script with the #SBATCH lines call the long one"
        raise FileError(f"{name or 'the script'} is longer than {MAX_SCRIPT:,} bytes", hint)
    if "\r\n" in text:
        hint = "convert it, as by `dos2unix`; no shell can read it so"
        raise FileError(f"{name or 'the script'} has the line ends of Windows", hint)
    return _Reading(text, name).script()


class _Reading:
    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.problems: list[FieldError] = []
        self.given = {each.name: each for each in options(text, name, self.problems)}
        self.data: Data = {"run": argv(text, PurePath(name).name or "script")}
        self.env: Data = {"GANGLION_SLURM_ENV": "1"}
        self.lines: dict[Path, int] = {}
        self.columns: dict[Path, int] = {}
        self.warnings: list[str] = []

    def script(self) -> Script:
        for option in self.given.values():
            try:
                self._translate(option)
            except FieldError as error:
                self.wrong(option, error)
        self._sizes()
        self.data["env"] = self.env
        document = Document(self.data, self.name, self.lines, 1, self.columns)
        return Script(document, tuple(self.warnings), tuple(self.problems))

    def put(self, option: Option, value: object, *path: str) -> None:
        inner = self.data
        for part in path[:-1]:
            below = inner.setdefault(part, {})
            assert isinstance(below, dict)
            inner = below
        inner[path[-1]] = value
        self.lines[path], self.columns[path] = option.line, option.column

    def warn(self, option: Option, advice: str) -> None:
        self.note(option, f"--{short(option.name)} is not honoured: {advice}")

    def note(self, option: Option, text: str) -> None:
        place = f"{self.name}:{option.line}" if self.name else f"line {option.line}"
        self.warnings.append(f"{place}: {text}")

    def label(self, option: Option) -> str:
        name = slug(option.value)
        if name != option.value:
            self.note(option, f"--{option.name} {show(option.value)} was changed to `{name}`")
        return name

    def wrong(self, option: Option, error: FieldError) -> None:
        problem = FieldError(
            error.problem,
            key=f"--{option.name}",
            file=self.name,
            line=option.line,
            column=option.column,
            hint=error.hint,
        )
        self.problems.append(problem)

    def _translate(self, option: Option) -> None:
        if option.name in RULES:
            RULES[option.name](self, option)
        elif option.name not in SILENT and option.name not in Sizes.OPTIONS:
            known = option.name in KNOWN
            nothing = "it has no counterpart" if known else "sbatch has no such option"
            near = "" if known else meant(option.name, KNOWN)
            self.warn(option, ADVICE.get(option.name) or near or nothing)

    def _sizes(self) -> None:
        found = sizes(self.given, uses_srun=bool(SRUN.search(self.text)))
        for name, error in found.problems.items():
            self.wrong(self.given[name], error)
        for path, value in found.values.items():
            self.put(found.options[path], value, *path)
        for option, text in found.warnings:
            self.note(option, f"--{option.name}: {text}")
        if MPI.search(self.text):
            hint = "start MPI ranks by `srun`, or use the hostfile in $GANGLION_HOSTFILE"
            self.warnings.append(f"mpirun would start once on every node: {hint}")


def _name(job: _Reading, option: Option) -> None:
    job.put(option, job.label(option), "name")


def _account(job: _Reading, option: Option) -> None:
    job.put(option, job.label(option), "queue")


def _time(job: _Reading, option: Option) -> None:
    limit = parse_slurm_time(option.value)
    if limit:
        job.put(option, print_duration(limit), "time_limit")


def _qos(job: _Reading, option: Option) -> None:
    if option.value.lower() in PRIORITIES:
        job.put(option, option.value.lower(), "priority")
    else:
        job.warn(option, f"priority classes are {', '.join(PRIORITIES)}")


def _array(job: _Reading, option: Option) -> None:
    tasks, limit = values.array(option.value)
    job.put(option, {TASK: [str(each) for each in tasks]}, "params")
    if limit:
        job.put(option, limit, "parallel")
    job.env["SLURM_ARRAY_TASK_ID"] = "{" + TASK + "}"
    job.env["SLURM_ARRAY_TASK_COUNT"] = str(len(tasks))
    job.env["SLURM_ARRAY_TASK_MIN"], job.env["SLURM_ARRAY_TASK_MAX"] = str(tasks[0]), str(tasks[-1])


def _signal(job: _Reading, option: Option) -> None:
    name, seconds = values.signal(option.value)
    job.put(option, {"signal": name, "grace": f"{seconds}s"}, "checkpoint")


_AFTER = {"afterok": "", "afterany": "any:"}
"""Sort of a dependency -> what goes before the name in `after`."""


def _dependency(job: _Reading, option: Option) -> None:
    names: list[str] = []
    for part in re.split(r"[,?]", option.value):
        sort, _, rest = part.partition(":")
        if sort in _AFTER and rest:
            names += [_AFTER[sort] + each.partition("+")[0] for each in rest.split(":")]
        elif part == "singleton":
            job.put(option, True, "singleton")
        else:
            known = "`afterok:NAME`, `afterany:NAME` and `singleton`"
            job.warn(option, f"only {known} are known, found {show(part)}")
    if names:
        job.put(option, names, "after")


def _export(job: _Reading, option: Option) -> None:
    for part in option.value.split(","):
        name, given, value = part.partition("=")
        if part.upper() == "ALL":
            job.warn(option, "your shell's variables are not copied; name those that are needed")
        elif part.upper() not in ("NONE", "NIL", ""):
            job.env[name] = value if given else None


def _exclusive(job: _Reading, option: Option) -> None:
    if option.value in ("", "exclusive"):
        job.put(option, "workload", "constraints", "isolation")
    else:
        job.warn(option, "use `constraints: {isolation: queue}` in a file")


def _switches(job: _Reading, option: Option) -> None:
    count = option.value.partition("@")[0]
    if count.strip() == "1":
        job.put(option, "prefer_rack", "placement")
    else:
        job.warn(option, "only one switch can be asked for, as the same rack")


def _no_requeue(job: _Reading, option: Option) -> None:
    job.put(option, {"limit": 0, "on": []}, "retry")


def _segment(job: _Reading, option: Option) -> None:
    job.put(option, [{"size": option.value, "required": "block"}], "groups")


RULES: dict[str, Callable[[_Reading, Option], None]] = {
    "job-name": _name,
    "account": _account,
    "time": _time,
    "qos": _qos,
    "array": _array,
    "signal": _signal,
    "dependency": _dependency,
    "export": _export,
    "exclusive": _exclusive,
    "switches": _switches,
    "no-requeue": _no_requeue,
    "segment": _segment,
    "hold": lambda job, option: job.put(option, True, "hold"),
    "chdir": lambda job, option: job.put(option, option.value, "workdir"),
    "container": lambda job, option: job.put(option, option.value, "image"),
    "container-image": lambda job, option: job.put(option, option.value, "image"),
    "comment": lambda job, option: job.put(option, option.value, "labels", "comment"),
}
"""Long option -> what it means here; sizes are read together by `slurm_sizes`."""
