"""Shorthands for more than one key."""

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.ranges import is_array, parse_array
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.yaml import Data
from ganglion.specs.wording import meant, show


def expand(found: Data, renaming: Renaming) -> Data:
    """Write out `array: 0-99%8`, `preemptible: {grace: 2m}`, `checkpoint: true` and shell lines.

    Args:
        found: a document in canonical keys; changed in place and returned.
        renaming: the pass that made it, which notes what is wrong.
    """
    if isinstance(found.get("checkpoint"), bool):
        _checkpoint(found)
    if is_array(found.get("params")):
        _array(found, renaming)
    if isinstance(found.get("preemptible"), dict):
        _preemptible(found, renaming)
    if isinstance(found.get("setup"), list):
        found["setup"] = _lines(found["setup"], renaming, "setup")
    if isinstance(found.get("run"), list) and renaming.source(("run",)) == ("commands",):
        found["run"] = _lines(found["run"], renaming, "run")
    return found


def _array(found: Data, renaming: Renaming) -> None:
    try:
        tasks, limit = parse_array(str(found["params"]))
    except FieldError as error:
        renaming.problems.append(renaming.wrong(error.problem, ("params",), error.hint))
        return
    found["params"] = {"index": [str(task) for task in tasks]}
    if limit and "parallel" in found:
        problem = "says the same as `%` in the array"
        renaming.doubled.add(("parallel",))
        renaming.problems.append(renaming.wrong(problem, ("parallel",), "keep one of them"))
    elif limit:
        found["parallel"] = limit
        renaming.written["parallel",] = renaming.source(("params",))


def _checkpoint(found: Data) -> None:
    if found["checkpoint"]:
        found["checkpoint"] = {}
    else:
        del found["checkpoint"]


def _preemptible(found: Data, renaming: Renaming) -> None:
    given, found["preemptible"] = found["preemptible"], True
    assert isinstance(given, dict)
    contract = found.setdefault("checkpoint", {}) if given else None
    for key, value in given.items():
        path = ("preemptible", key)
        if key not in ("grace", "signal"):
            hint = meant(str(key), ("grace", "signal")) or "known keys: grace, signal"
            renaming.problems.append(renaming.wrong(f"unknown key {show(key)}", path, hint))
        elif not isinstance(contract, dict) or key in contract:
            problem = f"says the same as `checkpoint.{key}`"
            renaming.problems.append(renaming.wrong(problem, path, "keep one of them"))
        else:
            contract[key] = value
            renaming.written["checkpoint", key] = path


def _lines(lines: object, renaming: Renaming, key: str) -> str:
    assert isinstance(lines, list)
    texts = []
    for at, line in enumerate(lines):
        try:
            texts.append(parse_text(line))
        except FieldError as error:
            renaming.problems.append(renaming.wrong(error.problem, (key, at), error.hint))
    # The next line must not run after one that failed.
    return "\n".join(["set -e", *texts]) if len(texts) > 1 else "".join(texts)
