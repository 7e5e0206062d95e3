"""Policies as the server shows them."""

from collections.abc import Iterable

from ganglion.files.policy_print import Change, changes, policy_document
from ganglion.model.booking import Booking
from ganglion.model.causes import sentence
from ganglion.model.events import PolicySet
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.server import policies, schemas
from ganglion.server.bookings import there_are
from ganglion.server.draft import Mind
from ganglion.server.etags import tag_of


def outcome(found: policies.Outcome) -> schemas.PolicyOutcome:
    """What setting a policy did, or would do."""
    return schemas.PolicyOutcome(
        version=found.version,
        changes=tuple(_change(each) for each in found.changes),
        warnings=tuple(found.warnings),
    )


def present(mind: Mind) -> schemas.PolicyView:
    """The policy in force, with the queues and bookings there are."""
    queues = sorted(mind.state.queues.values(), key=lambda each: each.name)
    return _view(policies.current(mind), queues, tuple(there_are(mind).values()))


def former(event: PolicySet) -> schemas.PolicyView:
    """A policy that was once set, with the queues that came with it."""
    return _view(event, event.queues or (), ())


def history(mind: Mind) -> schemas.PolicyHistory:
    """Every policy that was set, oldest first."""
    items = []
    before = policy_document(Policy())
    for event in mind.book.policies:
        after = policy_document(event.policy, event.queues or ())
        if event.queues is None and "queues" in before:
            after["queues"] = before["queues"]
        items.append(_version(event, changes(before, after)))
        before = after
    return schemas.PolicyHistory(items=tuple(items))


def _version(event: PolicySet, found: Iterable[Change]) -> schemas.PolicyVersion:
    return schemas.PolicyVersion(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        changes=tuple(_change(each) for each in found),
    )


def _view(
    event: PolicySet, queues: Iterable[Queue], bookings: Iterable[Booking]
) -> schemas.PolicyView:
    document = policy_document(event.policy, queues, bookings)
    return schemas.PolicyView(
        version=event.version,
        at=event.at,
        user=event.user,
        cause=sentence(event.cause),
        text=event.text,
        document=document,
        etag=tag_of([event.version, document]),
    )


def _change(each: Change) -> schemas.PolicyChange:
    return schemas.PolicyChange(key=each.key, before=each.before, after=each.after)
