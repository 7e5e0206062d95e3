"""Amounts that queues own, and what nodes hold; cordons, and weighted plugins of a cluster file."""

import re
from collections.abc import Callable

from ganglion.model.errors import FieldError
from ganglion.model.kinds import Weighted
from ganglion.model.resources import WHOLE, Amount, decimal
from ganglion.specs.grammar.lists import gathered, mapped, parse_texts
from ganglion.specs.grammar.quantities import (
    parse_cpus,
    parse_memory,
    print_cpus,
    print_memory,
)
from ganglion.specs.grammar.scalars import parse_decimal, parse_text, parse_whole
from ganglion.specs.wording import meant, show

MAX_QUOTA = 10_000_000
CPU_FLAVOR = "cpu"
_DIGEST = re.compile(r"[a-z0-9-]+:[^\s/]\S*")
_HINT = "write a number of GPUs, or `{gpus: 16, cpus: 128, memory: 2TiB}`"
_KEYS = {
    "gpus": "gpus",
    "gpu": "gpus",
    "cpus": "cpus",
    "cpu": "cpus",
    "memory": "memory",
    "mem": "memory",
}


def parse_amounts(value: object) -> dict[str, Amount]:
    """Read flavor -> amount; a bare number counts GPUs, or CPUs for the flavor `cpu`."""
    if not isinstance(value, dict):
        raise FieldError(f"expected keys and values, found {show(value)}")
    return gathered(value, lambda name, each: (flavor := parse_text(name), _amount(flavor, each)))


def parse_cordon(value: object) -> str:
    """Read a reason, or true for one without words; false and nothing lift it."""
    if isinstance(value, bool):
        return "cordoned in the cluster file" if value else ""
    return parse_text(value).strip()


def parse_holds(value: object) -> dict[str, int]:
    """Read digest of a model -> how much of it lies on a node, into MiB."""
    return mapped(value, _held, parse_memory)


def _held(value: object) -> str:
    text = parse_text(value).strip()
    if not _DIGEST.fullmatch(text):
        hint = "as `sha256:…`; `ganglion describe` shows the digest of a workload's model"
        raise FieldError(f"{show(text)} is no digest of a model", hint=hint)
    return text


def parse_scores(value: object) -> tuple[Weighted, ...]:
    """Read plugins as a name, a list of names, or name -> weight."""
    if isinstance(value, dict):
        weights = mapped(value, parse_text, lambda each: parse_whole(each, 1, 1_000_000))
        found = tuple(Weighted(name, weight) for name, weight in weights.items())
    else:
        found = tuple(Weighted(name) for name in parse_texts(value))
    if not found:
        raise FieldError("needs at least one plugin", hint="as `[ganglion]`")
    return found


def print_amounts(amounts: dict[str, Amount]) -> dict[str, object]:
    """Print flavor -> amount in the shortest form that parses back to the same."""
    return {flavor: _print_amount(flavor, each) for flavor, each in amounts.items()}


def print_scores(scores: tuple[Weighted, ...]) -> list[str] | dict[str, int]:
    """Print plugins as a list, or with their weights where those differ from 1."""
    if all(each.weight == 1 for each in scores):
        return [each.name for each in scores]
    return {each.name: each.weight for each in scores}


def _print_amount(flavor: str, amount: Amount) -> object:
    found: dict[str, object] = {}
    if amount.gpu_milli is not None:
        found["gpus"] = _print_gpus(amount.gpu_milli)
    if amount.cpu_milli is not None:
        found["cpus"] = print_cpus(amount.cpu_milli)
    if amount.memory_mib is not None:
        found["memory"] = print_memory(amount.memory_mib)
    plain = "cpus" if flavor == CPU_FLAVOR else "gpus"
    return found[plain] if found.keys() == {plain} else found


def _print_gpus(milli: int) -> int | str:
    return decimal(milli) if milli % WHOLE else milli // WHOLE


def _amount(flavor: str, value: object) -> Amount:
    if isinstance(value, dict):
        return _mapping(value)
    if flavor == CPU_FLAVOR:
        return Amount(cpu_milli=parse_cpus(value))
    return Amount(gpu_milli=_gpu_milli(value))


def _mapping(given: dict[str, object]) -> Amount:
    seen: set[str] = set()

    def part(key: str, value: object) -> tuple[str, int]:
        if key not in _KEYS:
            raise FieldError(f"unknown key {show(key)}", hint=meant(key, _KEYS) or _HINT)
        if _KEYS[key] in seen:
            raise FieldError(f"`{_KEYS[key]}` is given twice")
        seen.add(_KEYS[key])
        name, read = _PARTS[_KEYS[key]]
        return name, read(value)

    return Amount(**gathered(given, part))


def _gpu_milli(value: object) -> int:
    milli = parse_decimal(value, "a number of GPUs", _HINT) * WHOLE
    if milli.denominator != 1 or milli > MAX_QUOTA * WHOLE:
        raise FieldError(f"{show(value)} is not a number of GPUs", hint=_HINT)
    return int(milli)


_PARTS: dict[str, tuple[str, Callable[[object], int]]] = {
    "gpus": ("gpu_milli", _gpu_milli),
    "cpus": ("cpu_milli", parse_cpus),
    "memory": ("memory_mib", parse_memory),
}
"""Key of an amount -> its attribute, and how it is read."""
