"""Objects of a cluster into queues and a policy, with what became of each of them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import FieldError, InputError
from ganglion.model.fleet.booking import Booking
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Policy
from ganglion.model.queue import Preemption, Queue
from ganglion.specs.policy.bookings import booked
from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.policy.queue_schema import QueueFile
from ganglion.specs.policy.queue_tree import (
    QueueFinding,
    above_parent,
    below_quota,
    entitled_to_nothing,
    lent_beyond_quota,
    overcommitted,
    parents_first,
)
from ganglion.specs.policy.queues import queues_of
from ganglion.specs.reading.yaml import Path, dotted
from ganglion.worlds.kubernetes.cluster_view.tenancy import OPEN, Tenancy
from ganglion.worlds.kubernetes.config.documents import joined, policy_file, queue_file, told
from ganglion.worlds.kubernetes.config.forest import Fault, Sapling, settle
from ganglion.worlds.kubernetes.config.tenants import inherited, terms_of
from ganglion.worlds.kubernetes.config.verdicts import (
    AcceptedReason,
    ObjectVerdict,
    SpecCandidate,
    candidates,
)
from ganglion.worlds.kubernetes.types.meta import Anything

IN_FORCE = "default"
"""Name of the `Policy` that decides, by default."""

CHECKS = (above_parent, overcommitted, below_quota, lent_beyond_quota, entitled_to_nothing)
"""What is doubtful between queues; objects change one at a time, so that it stops nothing."""


class Configuration(Struct, frozen=True):
    """What the objects of a cluster say together.

    Attributes:
        policy: how the engine decides.
        queues: the whole tree, parents before their children.
        file: the policy as it was written; None = the built-in one decides.
        verdicts: what became of every object, by kind and name.
        tenancy: which namespaces may submit to which queue.
    """

    policy: Policy
    queues: tuple[Queue, ...]
    file: PolicyFile | None
    verdicts: tuple[ObjectVerdict, ...]
    tenancy: Tenancy = OPEN

    def bookings(self, fleet: Iterable[Node]) -> tuple[tuple[Booking, ...], tuple[str, ...]]:
        """The bookings of the policy on these nodes, and what is wrong with the others."""
        known, found, wrong = list(fleet), list[Booking](), list[str]()
        files = (self.file.bookings if self.file else None) or ()
        for at, each in enumerate(files):
            try:
                found.append(booked(each, known, ("bookings", at), _wrong))
            except FieldError as error:
                wrong.append(told(error))
        return tuple(found), tuple(wrong)


def no_check(_policy: Policy) -> None:
    """Find every policy usable."""


def configuration(
    queues: Iterable[Anything],
    policies: Iterable[Anything],
    flavors: Collection[str] = (),
    in_force: str = IN_FORCE,
    check: Callable[[Policy], None] = no_check,
) -> Configuration:
    """Read all objects; what is wrong is set apart with its reason, and everything else counts.

    An object whose present spec is wrong counts with the last one that was accepted, which its
    status keeps.

    Args:
        queues: every `Queue`.
        policies: every `Policy`.
        flavors: those of the nodes; empty = any may be named. Others are warned of.
        in_force: name of the policy that decides.
        check: raises InputError for a policy that cannot be used here.
    """
    file, verdicts = _policy(sorted(policies, key=_name), in_force, check)
    policy = file.policy if file else Policy()
    items = sorted(queues, key=_name)
    saplings = {item.metadata.name: _sapling(item) for item in items}
    settle(saplings)
    found, more = _queues(items, saplings, policy.preemption, flavors)
    own = {name: terms_of(e.options[0][0].spec) for name, e in saplings.items() if e.options}
    terms = inherited(own, {each.name: each.parent for each in found})
    return Configuration(policy, found, file, (*verdicts, *more), Tenancy(terms, bool(items)))


def _policy(
    items: Sequence[Anything], in_force: str, check: Callable[[Policy], None]
) -> tuple[PolicyFile | None, list[ObjectVerdict]]:
    file, verdicts = None, list[ObjectVerdict]()
    for item in items:
        if item.metadata.name == in_force:
            file, verdict = _deciding(item, check)
        else:
            why = f"the policy named `{in_force}` decides; this one is not looked at"
            verdict = _apart("Policy", item, Fault(AcceptedReason.UNUSED, why))
        verdicts.append(verdict)
    return file, verdicts


def _deciding(
    item: Anything, check: Callable[[Policy], None]
) -> tuple[PolicyFile | None, ObjectVerdict]:
    fault = None
    for each in candidates(item):
        try:
            file = policy_file(each.spec)
            check(file.policy)
            return file, _verdict("Policy", item, each, fault)
        except InputError as error:
            fault = fault or Fault(AcceptedReason.INVALID, told(error))
    assert fault is not None
    fault = replace(fault, message=f"{fault.message}; the built-in policy decides")
    return None, _apart("Policy", item, fault)


def _queues(
    items: Sequence[Anything],
    saplings: Mapping[str, Sapling],
    preemption: Preemption,
    flavors: Collection[str],
) -> tuple[tuple[Queue, ...], list[ObjectVerdict]]:
    found: dict[str, Queue] = {}
    warnings: dict[str, list[str]] = {}
    for name, each in saplings.items():
        if each.options:
            found[name], warnings[name] = _built(each.options[0][1], preemption, flavors)
    for check in CHECKS:
        for finding in check(tuple(found.values())):
            warnings[finding.queue].append(_warned(finding))
    verdicts = [
        _of_queue(item, saplings[item.metadata.name], warnings.get(item.metadata.name, []))
        for item in items
    ]
    return parents_first(found.values()), verdicts


def _sapling(item: Anything) -> Sapling:
    name, fault = item.metadata.name, None
    options: list[tuple[SpecCandidate, QueueFile]] = []
    for each in candidates(item):
        try:
            options.append((each, queue_file(name, each.spec)))
        except InputError as error:
            # An earlier spec that is no good any more is no news while the present one is.
            if not options:
                fault = fault or Fault(AcceptedReason.INVALID, told(error))
    return Sapling(name, options, fault)


def _built(
    file: QueueFile, preemption: Preemption, flavors: Collection[str]
) -> tuple[Queue, list[str]]:
    """The queue, and what is doubtful about it. Raises FieldError."""
    # Alone it is a root: what lies between queues is judged for all of them together.
    alone = file.model_copy(update={"parent": ""})
    unknown: list[FieldError] = []
    (queue,) = queues_of([alone], flavors, preemption, _wrong, unknown)
    return replace(queue, parent=file.parent), [told(each) for each in unknown]


def _wrong(problem: str, path: Path, hint: str = "") -> FieldError:
    inner = path[2:] if path[:1] == ("queues",) else path
    return FieldError(problem, key=dotted(inner), hint=hint)


def _warned(finding: QueueFinding) -> str:
    key = ".".join(part for part in ("spec", finding.key, finding.flavor) if part)
    return f"{key}: {finding.problem}" + (f" ({finding.hint})" if finding.hint else "")


def _of_queue(item: Anything, sapling: Sapling, warnings: Sequence[str]) -> ObjectVerdict:
    if not sapling.options:
        assert sapling.fault is not None
        return _apart("Queue", item, sapling.fault)
    return _verdict("Queue", item, sapling.options[0][0], sapling.fault, warnings)


def _verdict(
    kind: str,
    item: Anything,
    used: SpecCandidate,
    fault: Fault | None,
    warnings: Sequence[str] = (),
) -> ObjectVerdict:
    if fault:
        message = f"{fault.message}; generation {used.generation} stays in force"
        fault = replace(fault, message=message)
    elif warnings:
        fault = Fault(AcceptedReason.WARNED, joined(sorted(warnings)))
    else:
        fault = Fault(AcceptedReason.ACCEPTED, "in force")
    meta = item.metadata
    return ObjectVerdict(
        kind,
        meta.name,
        meta.generation,
        fault.reason,
        fault.message,
        used.spec,
        used.generation,
    )


def _apart(kind: str, item: Anything, fault: Fault) -> ObjectVerdict:
    meta = item.metadata
    return ObjectVerdict(kind, meta.name, meta.generation, fault.reason, fault.message)


def _name(item: Anything) -> str:
    return item.metadata.name
