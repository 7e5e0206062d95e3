"""Policies as the server shows them."""

from collections.abc import Iterable

from ganglion.api.policies import (
    PolicyHistory,
    PolicyVersion,
    PolicyView,
)
from ganglion.model.causes import sentence
from ganglion.model.events import PolicySet
from ganglion.model.fleet.booking import Booking
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.server.commands import policies
from ganglion.server.commands.bookings import there_are
from ganglion.server.rest.etags import tag_of
from ganglion.server.state.transaction import Mind
from ganglion.specs.policy.printing import Change, changes, policy_document


def present(mind: Mind) -> PolicyView:
    """The policy in force, with the queues and bookings there are."""
    queues = sorted(mind.state.queues.by_name.values(), key=lambda each: each.name)
    return _view(policies.current(mind), queues, tuple(there_are(mind).values()))


def former(event: PolicySet) -> PolicyView:
    """A policy that was once set, with the queues that came with it."""
    return _view(event, event.queues or (), ())


def history(mind: Mind) -> PolicyHistory:
    """Every policy that was set, oldest first."""
    items = []
    before = policy_document(Policy())
    for event in mind.book.policies:
        after = policy_document(event.policy, event.queues or ())
        if event.queues is None and "queues" in before:
            after["queues"] = before["queues"]
        items.append(_version(event, changes(before, after)))
        before = after
    return PolicyHistory(items=tuple(items))


def _version(event: PolicySet, found: Iterable[Change]) -> PolicyVersion:
    return PolicyVersion(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        changes=policies.changed(found),
    )


def _view(event: PolicySet, queues: Iterable[Queue], bookings: Iterable[Booking]) -> PolicyView:
    document = policy_document(event.policy, queues, bookings)
    return PolicyView(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        text=event.text,
        document=document,
        etag=tag_of([event.version, document]),
    )
