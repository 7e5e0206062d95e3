"""Names for workloads whose files give none."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath

from ganglion.specs.grammar.names import slug
from ganglion.specs.workload.schema import WorkloadFile

_LAUNCHERS = {"python", "python3", "torchrun", "bash", "sh", "uv", "run", "accelerate", "launch"}
_LAUNCHERS |= {"env", "exec", "srun", "mpirun", "deepspeed", "poetry", "nohup", "time", "set"}


def name_of(doc: WorkloadFile, file: str = "") -> str:
    """Make a name from the file's own name, else from the command.

    `train.yaml` and `python train.py` are both called `train`.
    """
    words = doc.run if isinstance(doc.run, tuple) else _words(doc.run)
    return slug(PurePath(file).stem) or slug(_telling(words)) or doc.effective_kind.value


def _telling(words: Sequence[str]) -> str:
    for word in words:
        if len(word.split()) > 1:  # a line for a shell, as in `sh -c "python train.py"`
            return _telling(word.split())
        stem = PurePath(word).stem
        telling = stem and not word.startswith("-") and "=" not in word
        if telling and stem.rstrip("0123456789.") not in _LAUNCHERS | {"python"}:
            return stem
    return ""


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text.splitlines()[0] if text.splitlines() else text, comments=True)
    except ValueError:
        return text.split()
