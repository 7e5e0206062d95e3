"""The last sessions in the pods of live workloads: who entered them, how, and until when."""

from msgspec.structs import replace

from ganglion.api.events import SessionView
from ganglion.model.events.access import PodAccess, SessionStage

SHOWN = 5
"""Sessions that are remembered of a workload; the ledger has all of them."""

Visits = dict[str, PodAccess]
"""Sessions by their ids, oldest first: their beginning, with what is known of the end."""


def remember(known: Visits, event: PodAccess) -> None:
    """Take in a beginning or an end; the oldest session beyond `SHOWN` is forgotten."""
    begun = known.get(event.session)
    if begun is None and event.stage is SessionStage.ENDED:
        return  # forgotten meanwhile
    # Requests are noted after this in a turn, and before it in a replay.
    unsaid = dict.fromkeys(("request", "actor", "grant", "glass", "by_token", "agent"), "")
    known[event.session] = _over(begun, event) if begun else replace(event, **unsaid)
    while len(known) > SHOWN:
        del known[next(iter(known))]


def _over(begun: PodAccess, event: PodAccess) -> PodAccess:
    return replace(
        begun,
        stage=event.stage,
        exit_code=event.exit_code,
        reason=event.reason,
        duration_ms=event.duration_ms,
    )


def shown(known: Visits) -> tuple[SessionView, ...]:
    """The sessions for people, newest first."""
    return tuple(_shown(each) for each in reversed(known.values()))


def _shown(event: PodAccess) -> SessionView:
    return SessionView(
        id=event.session,
        at=event.at,
        gang=event.gang,
        attempt=event.attempt,
        pod=event.pod,
        verb=event.verb.value,
        stage=event.stage.value,
        user=event.user,
        uid=event.uid,
        command=event.command,
        path=event.path,
        port=event.port,
        exit_code=event.exit_code,
        reason=event.reason,
        duration_ms=event.duration_ms,
    )
