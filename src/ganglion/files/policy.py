"""Policy files: knobs, priorities and queues over a preset.

policy = resolve_policy("kai").policy
file = load_policy("policy.yaml")
file.policy, file.queues
"""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from ganglion.files.bookings import BookingFile
from ganglion.files.cluster_queues import Wrong, queues_of
from ganglion.files.overlay import overlay
from ganglion.files.policy_schema import VOCABULARY, Knobs, Topped
from ganglion.files.presets import PRESETS, is_preset, preset, preset_name
from ganglion.files.queue_schema import expand
from ganglion.files.renaming import Renaming
from ganglion.files.text import decode, read
from ganglion.files.validate import validate
from ganglion.files.wording import listed
from ganglion.files.yaml import Data, dotted, parse_documents
from ganglion.files.yaml import Path as Place
from ganglion.model.errors import FieldError, FileError
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.queue import Queue

SIDE_BY_SIDE = (Entitlement.QUOTA, Entitlement.DOMINANT)
"""Entitlements that know `heads_only`."""

ENDINGS = (".yaml", ".yml", ".json")


def _wrong(problem: str, path: Place, hint: str = "") -> FieldError:
    return FieldError(problem, key=dotted(path), hint=hint)


class PolicyFile(Struct, frozen=True):
    """A policy as a person wrote it, understood.

    Attributes:
        policy: how the engine decides, with everything that the preset says.
        queues: the whole queue tree, parents before their children; None = the file says
            nothing about queues.
        bookings: all bookings, their nodes not looked up yet; None = the file says nothing
            about bookings.
        preset: what the file changes.
        name: what messages call the file.
        text: the file itself.
        unknown: flavors that no node has, where those are no errors.
        wrong: makes an error of problem, canonical path and hint.
        places: queue -> its place in the file.
    """

    policy: Policy
    queues: tuple[Queue, ...] | None = None
    bookings: tuple[BookingFile, ...] | None = None
    preset: str = "default"
    name: str = ""
    text: str = ""
    unknown: tuple[FieldError, ...] = ()
    wrong: Wrong = _wrong
    places: dict[str, int] = {}


def resolve_policy(text: str) -> PolicyFile:
    """The policy that a person means: the name of a preset, or the path of a policy file.

    Raises:
        FileError: there is neither such a preset nor such a file.
        FieldError: a key or value of the file is wrong.
    """
    return parse_policy(*source_of(text))


def source_of(text: str) -> tuple[str, str]:
    """The text of a policy file and what to call it; a preset is a file of one line.

    Raises:
        FileError: there is neither such a preset nor such a file.
    """
    if is_preset(text):
        return f"preset: {preset_name(text)}\n", ""
    try:
        raw, name = read(text)
    except FileError as error:
        if is_path(text):
            raise
        hint = f"presets are {listed(PRESETS)}"
        raise FileError(f"{text!r} is neither a preset nor a file", hint) from error
    return decode(raw, name), name


def is_path(text: str) -> bool:
    """Whether a text looks like the path of a file rather than a name."""
    return "/" in text or text.endswith(ENDINGS)


def load_policy(source: str | Path) -> PolicyFile:
    """Read a policy file, or the standard input for `-`.

    Raises:
        FileError: it cannot be read as text.
        FieldError: a key or value is wrong.
    """
    raw, name = read(source)
    return parse_policy(decode(raw, name), name)


def parse_policy(text: str, name: str = "", flavors: Collection[str] = ()) -> PolicyFile:
    """Read a policy from YAML or JSON.

    Args:
        text: the file.
        name: what messages call it.
        flavors: those of the nodes; empty = any flavor may be named.

    Raises:
        FileError: it is not text of that sort.
        FieldError: a key or value is wrong.
    """
    documents = parse_documents(text, name)
    if len(documents) > 1:
        line = documents[1].top
        raise FieldError("a policy file holds one document", file=name, line=line)
    renaming = Renaming(documents[0], VOCABULARY)
    file = validate(Topped, expanded(renaming.known()), renaming)
    policy = policy_of(file)
    if policy.heads_only and policy.entitlement not in SIDE_BY_SIDE:
        problem = renaming.wrong(
            f"queues compared by {policy.entitlement} are not looked at one gang at a time",
            ("heads_only",),
            f"with `entitlement: {listed(SIDE_BY_SIDE)}` they are; or `heads_only: false`",
        )
        renaming.problems.append(problem)
    queues, unknown, written = None, list[FieldError](), file.queues
    if written is not None:
        rules = policy.preemption
        queues = renaming.noted(lambda: queues_of(written, flavors, rules, renaming.wrong, unknown))
    renaming.settle()
    places = {each.name: at for at, each in enumerate(file.queues or ())}
    return PolicyFile(
        policy,
        queues,
        file.bookings,
        file.preset,
        name,
        text,
        tuple(unknown),
        renaming.wrong,
        places,
    )


def expanded(found: Data) -> Data:
    """Write out what stands for more than one key, in place."""
    for each in (found, found.get("policy")):
        expand(each.get("preemption") if isinstance(each, dict) else None)
    classes = found.get("priorities")
    if isinstance(classes, dict) and "escalate" in classes and "escalate" not in found:
        found["escalate"] = classes.pop("escalate")
    queues = found.get("queues")
    for each in queues if isinstance(queues, list) else ():
        if isinstance(each, dict):
            expand(each.get("preemption"))
    return found


def policy_of(knobs: Knobs) -> Policy:
    """The policy that knobs and their preset make."""
    return overlay(preset(knobs.preset), knobs)
