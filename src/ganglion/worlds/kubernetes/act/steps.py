"""The writes of a start and of a preemption as data, in phases.

The writes of a phase may be under way together and succeed in any order; those of the next
begin only once all of them have. So whoever finds a cluster after a crash knows from one write
of a phase that the earlier phases were complete.
"""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.act.bind import BindOrder
from ganglion.worlds.kubernetes.act.outcome import Ref
from ganglion.worlds.kubernetes.gangs.found import Owner


class Nominate(Struct, frozen=True):
    """Promise a pod a node."""

    pod: Ref
    node: str


class Withdraw(Struct, frozen=True):
    """Take a promise back."""

    pod: Ref


class Mark(Struct, frozen=True):
    """Mark a pod as a victim of a beneficiary."""

    pod: Ref
    beneficiary: str


class Spare(Struct, frozen=True):
    """Take the mark of a victim back."""

    pod: Ref


class Suspend(Struct, frozen=True):
    """Suspend who would make victims anew."""

    owner: Owner
    beneficiary: str


class Unsuspend(Struct, frozen=True):
    """Resume an owner that was suspended for a beneficiary."""

    owner: Owner


class Evict(Struct, frozen=True):
    """Have a marked pod leave; `grace_s` in seconds, None = as the pod says."""

    pod: Ref
    grace_s: int | None = None


class Bind(Struct, frozen=True):
    """Bind pods of one gang; the first goes alone if it carries notes."""

    orders: tuple[BindOrder, ...]


class TakeApart(Struct, frozen=True):
    """Unbind what is bound of a gang that cannot be completed."""

    pods: tuple[Ref, ...]
    message: str


class Await(Struct, frozen=True):
    """Write nothing until these pods are gone."""

    pods: tuple[Ref, ...]


class Place(Struct, frozen=True):
    """Find places for these pods of a gang that has begun: nothing on the cluster says where.

    Pods that are leaving, and victims marked for the gang, count as gone. What is found is
    nominated.
    """

    gang: str
    pods: tuple[Ref, ...]


Write = Nominate | Withdraw | Mark | Spare | Suspend | Unsuspend | Evict | Bind | TakeApart
Step = Write | Await | Place
Phase = tuple[Step, ...]


class Victim(Struct, frozen=True):
    """A pod that is to go, and how long it may take in seconds; None = as the pod says."""

    pod: Ref
    grace_s: int | None = None


def start(orders: Sequence[BindOrder]) -> tuple[Phase, ...]:
    """Return the phases of starting a gang: the first pod alone if it carries notes, the rest."""
    if len(orders) > 1 and orders[0].notes:
        return (Bind((orders[0],)),), tuple(Bind((each,)) for each in orders[1:])
    return (tuple(Bind((each,)) for each in orders),)


def preemption(
    beneficiary: str,
    orders: Sequence[BindOrder],
    victims: Sequence[Victim],
    owners: Sequence[Owner] = (),
) -> tuple[Phase, ...]:
    """Return the phases of a preemption.

    Args:
        beneficiary: key of the gang that gets the place.
        orders: where its pods go.
        victims: all pods that leave for it, of whole gangs or in excess of what theirs need.
        owners: of the victims, to be suspended until the beneficiary runs.
    """
    promises: Phase = tuple(Nominate(Ref(o.namespace, o.name, o.uid), o.node) for o in orders)
    marks: Phase = tuple(Mark(each.pod, beneficiary) for each in victims)
    suspensions: Phase = tuple(Suspend(owner, beneficiary) for owner in owners)
    evictions: Phase = tuple(Evict(each.pod, each.grace_s) for each in victims)
    waiting: Phase = (Await(tuple(each.pod for each in victims)),)
    phases = (promises, marks, suspensions, evictions, waiting, *start(orders))
    return tuple(phase for phase in phases if phase)
