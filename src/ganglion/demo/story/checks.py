"""What the demo promises, checked from what the jobs wrote and answered."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct

from ganglion.api.workloads import WorkloadDetail
from ganglion.client import Client
from ganglion.model.errors import GanglionError

_ADDRESS = re.compile(r"listening on (http://\S+)")
_FINISHED = re.compile(r"finished: accuracy (\S+) weights (\S+)")
_LOSS = re.compile(r"step \d+ loss (\S+)")

GOOD = 0.75
"""Accuracy that training reaches; guessing reaches 0.1."""


class PromiseCheck(Struct, frozen=True):
    """One promise.

    Attributes:
        promise: what was promised.
        held: whether it held.
        detail: the figures.
    """

    promise: str
    held: bool
    detail: str


def log(client: Client, ref: str, index: int = 0, rank: int = 0, *, previous: bool = False) -> str:
    """Return everything one process wrote; with `previous`, in the attempt before."""
    with client.logs(ref, index=index, rank=rank, previous=previous) as chunks:
        return b"".join(chunks).decode("utf-8", errors="replace")


def training(client: Client, detail: WorkloadDetail, ranks: int, home: Path) -> list[PromiseCheck]:
    """Check that training learnt, that all ranks hold one model, and that it saved."""
    logs = [log(client, detail.id, rank=rank) for rank in range(ranks)]
    ends = [_FINISHED.findall(each)[-1:] for each in logs]
    sums = {end[0][1] for end in ends if end}
    losses = [float(each) for each in _LOSS.findall(logs[0])]
    accuracy = float(ends[0][0][0]) if ends[0] else 0.0
    learnt = bool(losses) and losses[-1] < losses[0] and accuracy > GOOD
    course = f"loss {losses[0]:.2f} to {losses[-1]:.2f}, " if losses else ""
    saved = home / "checkpoints" / detail.id / "0" / "checkpoint.npz"
    return [
        PromiseCheck("training learnt", learnt, f"{course}accuracy {accuracy:.3f}"),
        PromiseCheck(
            "all ranks hold the same weights",
            len(sums) == 1 and all(ends),
            f"{sum(map(bool, ends))} ranks, checksum {', '.join(sorted(sums)) or 'none'}",
        ),
        PromiseCheck("it saved a checkpoint", saved.is_file(), f"{saved.name} of {detail.id}"),
    ]


def sweep(client: Client, detail: WorkloadDetail) -> PromiseCheck:
    """Check that every trial reported a result of its own, and name the best."""
    found = [_last_json(log(client, detail.id, index)) for index in range(len(detail.gangs))]
    results = [each for each in found if "accuracy" in each]
    points = {(each["lr"], each["hidden"]) for each in results}
    best = max(results, key=lambda each: float(each["accuracy"]), default=None)
    told = f"best lr {best['lr']}, hidden {best['hidden']}: {best['accuracy']}" if best else "none"
    held = len(points) == len(detail.gangs) and len({each["accuracy"] for each in results}) > 1
    return PromiseCheck(f"{len(detail.gangs)} trials with results of their own", held, told)


def http(client: Client, ref: str, replicas: int) -> PromiseCheck:
    """Check that every replica answers a request itself."""
    answers = [_ask(client, ref, index) for index in range(replicas)]
    names = {each["ganglion_gang"] for each in answers if "ganglion_gang" in each}
    what = f"{ref}: {len(names)} of {replicas} answered over HTTP"
    shown = "; ".join(_brief(each) for each in answers)
    return PromiseCheck(what, len(names) == replicas, shown)


def _brief(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return str(answer["error"])
    return f"{answer['ganglion_gang']} on {answer['ganglion_node']}: classes {answer['classes']}"


def _ask(client: Client, ref: str, index: int) -> dict[str, Any]:
    try:
        found = _ADDRESS.search(log(client, ref, index))
    except GanglionError as error:
        return {"error": error.message}
    if not found:
        return {"error": f"replica {index} did not print its address"}
    try:
        answer = httpx2.get(f"{found[1]}/predict", params={"seed": index}, trust_env=False)
        answer.raise_for_status()
    except httpx2.HTTPError as error:
        return {"error": f"replica {index}: {error}"}
    body: dict[str, Any] = answer.json()
    return body


def answering(client: Client, ref: str, replicas: int) -> bool:
    """Whether every replica has printed where it listens."""
    try:
        return all(_ADDRESS.search(log(client, ref, index)) for index in range(replicas))
    except GanglionError:  # a log that does not exist yet
        return False


def _last_json(text: str) -> dict[str, Any]:
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            return found
    return {}
