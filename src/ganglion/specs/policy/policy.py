"""Policy files: knobs, priorities and queues over a preset.

policy = resolve_policy("kai").policy
file = load_policy("policy.yaml")
file.policy, file.queues
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import FieldError, FileError
from ganglion.model.policy import Entitlement, Policy
from ganglion.model.queue import Queue
from ganglion.specs.policy.bookings import BookingFile, contradictions, given_twice, unknown_queues
from ganglion.specs.policy.presets import PRESETS, is_preset, preset, preset_name
from ganglion.specs.policy.queue_schema import expand
from ganglion.specs.policy.queues import queues_of
from ganglion.specs.policy.schema import VOCABULARY, Knobs, Topped
from ganglion.specs.reading.mapping import as_read
from ganglion.specs.reading.overlay import overlay
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.text import decode, read
from ganglion.specs.reading.validate import Wrong, readable
from ganglion.specs.reading.yaml import Data, dotted, parse_document
from ganglion.specs.reading.yaml import Path as Place
from ganglion.specs.wording import listed

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
    renaming = Renaming(parse_document(text, name, "policy"), VOCABULARY)
    file = readable(Topped, expanded(renaming.known()), renaming)
    renaming.note(heads_beside(file, (), renaming.wrong))
    queues, unknown = None, list[FieldError]()
    written = vars(file).get("queues")
    if written is not None:
        rules = policy_of(file).preemption
        queues = renaming.noted(lambda: queues_of(written, flavors, rules, renaming.wrong, unknown))
    renaming.note(_of_bookings(file, renaming.wrong))
    renaming.settle()
    places = {each.name: at for at, each in enumerate(file.queues or ())}
    return PolicyFile(
        policy_of(file),
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
    """Expand shorthands for more than one key, in place."""
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
    """The policy that knobs and their preset make; a preset that cannot be read is `default`."""
    return overlay(preset(vars(knobs).get("preset", "default")), knobs)


def heads_beside(knobs: Knobs, path: Place, wrong: Wrong) -> Iterator[FieldError]:
    """Yield what is wrong where queues are looked at one gang at a time; knobs lie at `path`."""
    usual, given = preset(knobs.preset), knobs.model_fields_set
    heads = knobs.heads_only if "heads_only" in given else usual.heads_only
    by = knobs.entitlement if "entitlement" in given else usual.entitlement
    if heads and by not in SIDE_BY_SIDE:
        yield wrong(
            f"queues compared by {by} are not looked at one gang at a time",
            (*path, "heads_only"),
            f"with `entitlement: {listed(SIDE_BY_SIDE)}` they are; or `heads_only: false`",
        )


def _of_bookings(file: Topped, wrong: Wrong) -> Iterator[FieldError]:
    """Yield what contradicts itself in the bookings; their nodes are not looked up."""
    files = file.bookings or ()
    queues = [vars(each).get("name", "") for each in vars(file).get("queues") or [file]]
    for at, each in enumerate(files):
        path: Place = ("bookings", at)
        yield from contradictions(each, path, wrong)
        # A name that cannot be read may be the one that is missing.
        if all(queues):
            yield from as_read(unknown_queues(each, queues, path, wrong))
    yield from given_twice(files, wrong)
