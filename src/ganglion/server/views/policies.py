"""Policies as the server shows them."""

from collections.abc import Iterable

from ganglion.model.booking import Booking
from ganglion.model.causes import sentence
from ganglion.model.events import PolicySet
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.server.commands import policies
from ganglion.server.commands.bookings import there_are
from ganglion.server.rest.etags import tag_of
from ganglion.server.state.transaction import Mind
from ganglion.server.wire import workloads
from ganglion.specs.policy.printing import Change, changes, policy_document


def outcome(found: policies.Outcome) -> workloads.PolicyOutcome:
    """What setting a policy did, or would do."""
    return workloads.PolicyOutcome(
        version=found.version,
        changes=tuple(_change(each) for each in found.changes),
        warnings=tuple(found.warnings),
    )


def present(mind: Mind) -> workloads.PolicyView:
    """The policy in force, with the queues and bookings there are."""
    queues = sorted(mind.state.queues.values(), key=lambda each: each.name)
    return _view(policies.current(mind), queues, tuple(there_are(mind).values()))


def former(event: PolicySet) -> workloads.PolicyView:
    """A policy that was once set, with the queues that came with it."""
    return _view(event, event.queues or (), ())


def history(mind: Mind) -> workloads.PolicyHistory:
    """Every policy that was set, oldest first."""
    items = []
    before = policy_document(Policy())
    for event in mind.book.policies:
        after = policy_document(event.policy, event.queues or ())
        if event.queues is None and "queues" in before:
            after["queues"] = before["queues"]
        items.append(_version(event, changes(before, after)))
        before = after
    return workloads.PolicyHistory(items=tuple(items))


def _version(event: PolicySet, found: Iterable[Change]) -> workloads.PolicyVersion:
    return workloads.PolicyVersion(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        changes=tuple(_change(each) for each in found),
    )


def _view(
    event: PolicySet, queues: Iterable[Queue], bookings: Iterable[Booking]
) -> workloads.PolicyView:
    document = policy_document(event.policy, queues, bookings)
    return workloads.PolicyView(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        text=event.text,
        document=document,
        etag=tag_of([event.version, document]),
    )


def _change(each: Change) -> workloads.PolicyChange:
    return workloads.PolicyChange(key=each.key, before=each.before, after=each.after)
