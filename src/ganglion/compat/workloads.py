"""Workloads in every form that people bring: workload files, and scripts of other schedulers."""

from pathlib import Path

from ganglion.compat.sbatch import is_script, read_script
from ganglion.specs.reading.text import STDIN, decode, read
from ganglion.specs.workload.workload import WorkloadFile, parse_workloads, translated


def load_workloads(source: str | Path) -> list[WorkloadFile]:
    """Read a file of workloads, or the standard input for `-`.

    YAML with one or more documents, JSON, or a script with `#SBATCH` lines.

    Raises:
        FileError: it cannot be read as text of that sort.
        FieldError: a key or value is wrong.
    """
    raw, name = read(source)
    return parse_any(raw, name, anonymous=str(source) == STDIN)


def parse_any(text: str | bytes, name: str = "", *, anonymous: bool = False) -> list[WorkloadFile]:
    """Read workloads from text: a workload file, or a script.

    Args:
        text: YAML, JSON or a script.
        name: what to call the text in messages; unnamed workloads are called after it.
        anonymous: do not call workloads after `name`.

    Raises:
        FileError: it is not text of that sort.
        FieldError: keys or values are wrong; all that is wrong, of every document.
    """
    plain = decode(text, name)
    if not is_script(plain):
        return parse_workloads(plain, name, anonymous=anonymous)
    script = read_script(plain, name)
    stem = "script" if anonymous or not name else name
    return [translated(script.document, stem, script.problems, script.warnings)]
