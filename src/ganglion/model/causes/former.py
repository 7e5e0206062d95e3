"""Causes that earlier versions wrote as sentences, in events and checkpoints."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ganglion.model.causes.cause import WORDS, Cause, CauseKind, CordonKind, Standing

TAGS = frozenset(
    {
        *("gang_updated", "gang_reserved", "place_kept", "start_planned", "gang_resized"),
        *("gang_stopping", "policy_set", "service_scaled"),
    }
)
"""Events with a cause."""

_ALWAYS = frozenset({"gang_stopping", "service_scaled"})
"""Those of which each has one."""

_UNKNOWN: Mapping[str, CauseKind] = {
    "start_planned": CauseKind.BLOCKED,
    "service_scaled": CauseKind.LOAD,
}
"""Events whose causes may be any text -> the kind of such a text."""

_VALUES: Mapping[str, str] = {
    "gang": r"\S*/\d+",
    "number": r"-?\d+",
    "devices": r"GPU [\d, ]+ of [^;:]+(?:; GPU [\d, ]+ of [^;:]+)*",
}
_STANDING = re.compile(
    r"(?P<metric>.+) (?P<value>no number|\S+) at step (?P<step>\d+) is place (?P<place>\d+) of"
    r" (?P<among>\d+) so far, and the best (?P<kept>\d+) go on"
)
_DEVICES = re.compile(r"GPU ([\d, ]+) of ([^;]+)")
_FIRST: Mapping[str, CauseKind] = {
    "cancel": CauseKind.CANCELLED,
    "stopped early": CauseKind.GIVEN_UP,
    "suspend": CauseKind.SUSPENDED,
    "reclaimed": CauseKind.RECLAIMED,
    "shared": CauseKind.SHARED,
    "moved": CauseKind.MOVED,
    "yielded": CauseKind.YIELDED,
    "lost": CauseKind.PODS_LOST,
}
"""First words of sentences that no template fits -> the kind that versions before took them for."""

_CORDONS: Mapping[str, CordonKind] = {
    "quarantined": CordonKind.QUARANTINE,
    "draining: ": CordonKind.DRAIN,
    "spare: kept free": CordonKind.SPARE,
}
"""First words of the reasons with which nodes were cordoned; a person's began otherwise."""


def cordon_of(reason: str, known: CordonKind | None = None) -> CordonKind | None:
    """On whose account a node is cordoned; None = it is not.

    Args:
        reason: of the cordon; empty = there is none.
        known: what the writer gave; None = an earlier version, which gave it in the reason.
    """
    if not reason or known:
        return known if reason else None
    found = (kind for words, kind in _CORDONS.items() if reason.startswith(words))
    return next(found, CordonKind.PERSON)


def upgraded(fields: Any) -> Any:  # noqa: ANN401 - plain values of any shape
    """The fields of an event as they are now; other values stay as they are."""
    if not isinstance(fields, dict) or fields.get("type") not in TAGS:
        return fields
    said = fields.get("cause")
    if not isinstance(said, str):
        return fields
    found = cause_of(said, fields["type"])
    if found is None and fields["type"] in _ALWAYS:
        found = Cause(CauseKind.OTHER)
    return fields | {"cause": found and msgspec.to_builtins(found)}


def cause_of(text: str, event: str = "") -> Cause | None:
    """The cause that a sentence meant; empty = none.

    Args:
        text: as it was written.
        event: tag of the event that it is of; empty = of no event.
    """
    if not text:
        return None
    found = next(_read(text), None)
    if found is None and event in _UNKNOWN:
        return Cause(_UNKNOWN[event], text=text)
    if found is None:
        kind = next((kind for word, kind in _FIRST.items() if text.startswith(word)), None)
        return Cause(kind or CauseKind.OTHER, text=text)
    return found


def _read(text: str) -> Iterator[Cause]:
    """Causes whose sentence this is, by the templates."""
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            said = {name: value for name, value in match.groupdict().items() if value}
            cause = _made(kind, said)
            if cause:
                yield cause


def _made(kind: CauseKind, said: dict[str, str]) -> Cause | None:
    fields: dict[str, Any] = dict(said)
    if "nodes" in said:
        fields["nodes"] = tuple(said["nodes"].split(", "))
    if "number" in said:
        fields["number"] = int(said["number"])
    if "devices" in said:
        pairs = _DEVICES.findall(said["devices"])
        fields["devices"] = tuple(
            (node, tuple(map(int, numbers.split(", ")))) for numbers, node in pairs
        )
    if "because" in said:
        fields["because"] = cause_of(said["because"], "service_scaled")
    if "standing" in said:
        fields["standing"] = _standing(said["standing"])
        if fields["standing"] is None:
            return None
    return Cause(kind, **fields)


def _standing(text: str) -> Standing | None:
    match = _STANDING.fullmatch(text)
    if match is None:
        return None
    said = match.groupdict()
    metric, value = said.pop("metric"), said.pop("value")
    try:
        number = None if value == "no number" else float(value)
    except ValueError:
        return None
    return Standing(metric, number, **{name: int(each) for name, each in said.items()})


def _pattern(head: str, tail: str) -> re.Pattern[str]:
    return re.compile(f"{_expression(head)}(?:{_expression(tail)})?", re.DOTALL)


def _expression(template: str) -> str:
    """A template as an expression with a group for each field."""
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(
        f"(?P<{part}>{_VALUES.get(part, '.+?')})" if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )


_PATTERNS = tuple((kind, _pattern(*words)) for kind, words in WORDS.items() if words[0] != "{text}")
