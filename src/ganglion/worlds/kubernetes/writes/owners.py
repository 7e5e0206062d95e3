"""Suspending owners that would make evicted pods anew, and resuming only what we suspended.

Switch and mark are one write: an owner is suspended by us if, and only if, it has the
annotation `ganglion.dev/suspended-for` with the gang that benefits. An owner that its user had
suspended has no mark and is never resumed by us; one that its user resumed meanwhile only loses
the mark. A user who wants an owner we suspended to stay so removes the mark.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Absent
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.instance import FIRST, Instance
from ganglion.worlds.kubernetes.names import SUSPENDED_FOR
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace, settle
from ganglion.worlds.kubernetes.writes.outcome import WriteOutcome, WriteVerdict


class Suspendable(Protocol):
    """An owner with a switch; `suspend` are the fields that lead to it."""

    @property
    def uid(self) -> str:
        """What distinguishes it from those that had its name before."""

    @property
    def path(self) -> str:
        """Of the object on the API server."""

    @property
    def suspend(self) -> Sequence[str]:
        """As `("spec", "suspend")`; empty = it has no switch."""


class Switch(Struct, frozen=True):
    """The state of an owner's switch: whether it is on, and for which gang we put it on."""

    is_on: bool
    ours: str

    @classmethod
    def of(cls, owner: Anything, fields: Sequence[str]) -> "Switch":
        """Read the switch of an owner; one without the field is not suspended."""
        value: Any = {"spec": owner.spec, "status": owner.status}
        for field in fields:
            value = value.get(field) if isinstance(value, Mapping) else None
        return cls(value is True, owner.metadata.annotations.get(SUSPENDED_FOR, ""))


Wanted = tuple[bool, str | None]
"""What a switch is to be, and its mark; None = no mark."""

Want = Callable[[Switch], Wanted | None]


def suspending(switch: Switch, beneficiary: str) -> Wanted | None:
    """Return what switch and mark have to become for a suspension; None = as they are.

    A mark whose owner was resumed is renewed with its switch; a switch without mark is the user's.
    """
    return None if switch.is_on else (True, beneficiary)


def resuming(switch: Switch) -> Wanted | None:
    """Return what switch and mark have to become for a resumption; None = as they are."""
    return (False, None) if switch.ours else None


async def suspend_owner(
    api: Api,
    owner: Suspendable,
    beneficiary: str,
    pace: RetryPace = PACE,
    instance: Instance = FIRST,
    *,
    seen: Anything | None = None,
) -> WriteOutcome:
    """Suspend an owner for a beneficiary, as one of several schedulers.

    Args:
        api: the cluster's.
        owner: which.
        beneficiary: gang that gets the place.
        pace: how hard to try.
        instance: which of several schedulers we are.
        seen: the owner as it was seen last. The write names its version, so the owner is read
            only if it has changed since; None = it is read first.

    Returns:
        DONE; UNCHANGED when it is suspended already, by any client; GONE when it is no more;
        REFUSED when it has no switch or the server says no.
    """

    def want(switch: Switch) -> Wanted | None:
        return suspending(switch, beneficiary)

    return await _turn(api, owner, want, pace, instance, seen)


async def resume_owner(
    api: Api,
    owner: Suspendable,
    pace: RetryPace = PACE,
    instance: Instance = FIRST,
    *,
    seen: Anything | None = None,
) -> WriteOutcome:
    """Resume an owner if we suspended it; UNCHANGED when it was not.

    Args:
        api: the cluster's.
        owner: which.
        pace: how hard to try.
        instance: which of several schedulers we are.
        seen: as for `suspend_owner`.
    """
    return await _turn(api, owner, resuming, pace, instance, seen)


async def _turned_as_seen(
    api: Api, owner: Suspendable, want: Want, pace: RetryPace, instance: Instance, seen: Anything
) -> WriteOutcome | None:
    """Try one write without reading first; None = it has to be read what is so now."""
    wanted = want(Switch.of(seen, owner.suspend))
    if wanted is None or _settled(seen, owner, want) or not pace.may():
        return None  # what was seen may be old
    try:
        await api.patch(owner.path, _turned(seen, owner.suspend, *wanted, instance), Patch.MERGE)
    except EnvironmentFault:
        return None
    return WriteOutcome(WriteVerdict.DONE)


async def _turn(
    api: Api,
    owner: Suspendable,
    want: Want,
    pace: RetryPace,
    instance: Instance,
    last: Anything | None,
) -> WriteOutcome:
    if not owner.suspend:
        return WriteOutcome(WriteVerdict.REFUSED, f"{owner.path} cannot be suspended")
    if last and (quick := await _turned_as_seen(api, owner, want, pace, instance, last)):
        return quick

    async def look() -> WriteOutcome | None:
        try:
            seen = await api.get(owner.path, Anything)
        except Absent as error:
            return WriteOutcome(WriteVerdict.GONE, error.message)
        except EnvironmentFault:  # still unknown: the write is sent again and its error reported
            return None
        return _settled(seen, owner, want)

    async def write() -> None:
        seen = await api.get(owner.path, Anything)
        wanted = want(Switch.of(seen, owner.suspend))
        if seen.metadata.uid == owner.uid and wanted is not None:
            await api.patch(
                owner.path, _turned(seen, owner.suspend, *wanted, instance), Patch.MERGE
            )

    return await look() or await settle(write, look, pace)


def _settled(seen: Anything, owner: Suspendable, want: Want) -> WriteOutcome | None:
    if seen.metadata.uid != owner.uid or seen.metadata.deletion_timestamp:
        return WriteOutcome(WriteVerdict.GONE, f"{owner.path} is gone or leaving")
    return (
        WriteOutcome(WriteVerdict.UNCHANGED)
        if want(Switch.of(seen, owner.suspend)) is None
        else None
    )


def _turned(
    seen: Anything, fields: Sequence[str], on: bool, ours: str | None, instance: Instance
) -> dict[str, Any]:
    body: dict[str, Any] = {fields[-1]: on}
    for field in reversed(fields[:-1]):
        body = {field: body}
    # The version that was read: a user's own change in between is looked at first.
    about = {"uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version}
    marks = {key: value if on else None for key, value in instance.mark.items()}
    return body | {"metadata": {**about, "annotations": {SUSPENDED_FOR: ours, **marks}}}
