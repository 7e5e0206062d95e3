"""Values of Slurm options that have grammars of their own."""

import re

from msgspec import Struct

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.ranges import MAX_VALUES, parse_array
from ganglion.specs.grammar.scalars import parse_whole
from ganglion.specs.wording import show

_MEMORY = re.compile(r"([0-9]{1,15})([KMGT]?)B?", re.IGNORECASE)
_SIGNAL = re.compile(r"(?:[RB]*:)?([A-Za-z0-9]+)(?:@([0-9]{1,6}))?")
_NODES = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class Gres(Struct, frozen=True):
    """GPUs of an option: how many, of which model (empty = any), and what else it asked for."""

    count: int
    model: str = ""
    others: tuple[str, ...] = ()


def gpus(text: str) -> Gres:
    """Read `4`, `h100:4`, `gpu:h100:4` or `gpu`, among other resources after commas."""
    parts = [part.removeprefix("gres/").removeprefix("gres:") for part in text.split(",")]
    mine = [part for part in parts if _is_gpu(part)]
    others = tuple(part for part in parts if part not in mine)
    if len(mine) > 1:
        raise FieldError(f"{show(text)} asks for several sorts of GPUs", hint="use `pod_sets`")
    if not mine:
        return Gres(0, "", others)
    words = [word for word in mine[0].split(":") if word.lower() != "gpu"]
    count = parse_whole(words.pop(), 0, 1024) if words and words[-1].isdigit() else 1
    return Gres(count, ":".join(words).upper(), others)


def memory(text: str) -> int:
    """Read memory into MiB; Slurm's units are binary, and a bare number is MiB."""
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        raise FieldError(f"{show(text)} is not an amount of memory", hint="as `64G`")
    factor = {"K": 1, "": 1 << 10, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[match[2].upper()]
    return -(-int(match[1]) * factor // 1024)


def array(text: str) -> tuple[list[int], int]:
    """Read `0-9%4`, `1,3,5-7` or `0-20:5` into task ids and the most at once (0 = all)."""
    return parse_array(text)


def signal(text: str) -> tuple[str, int]:
    """Read `[R][B:]USR1[@120]` into signal and seconds before the end (60 when left out)."""
    match = _SIGNAL.fullmatch(text)
    if not match:
        raise FieldError(f"{show(text)} is not a signal", hint="as `USR1@120`")
    return match[1], int(match[2] or 60)


def nodes(text: str) -> tuple[int, int]:
    """Read `4` or `2-4`."""
    match = _NODES.fullmatch(text.strip())
    if not match:
        raise FieldError(f"{show(text)} is not a number of nodes", hint="as `4` or `2-4`")
    return parse_whole(match[1], 1, MAX_VALUES), parse_whole(match[2] or match[1], 1, MAX_VALUES)


def _is_gpu(part: str) -> bool:
    first = part.split(":", maxsplit=1)[0].lower()
    return (
        first == "gpu" or part.isdigit() or (":" in part and first not in ("shard", "nic", "mps"))
    )
