"""Raising alarms and taking them back."""

from collections.abc import Mapping

from ganglion.model.events import AlarmSet
from ganglion.server.state.transaction import Transaction


def settle(draft: Transaction, subject: str, wanted: Mapping[str, str], prefix: str = "") -> None:
    """Raise the alarms that are wanted, take back the others.

    Args:
        draft: the open turn.
        subject: what they are about.
        wanted: alarm -> what to say.
        prefix: alarms of the subject that do not begin with this are left alone.
    """
    standing = [
        alarm for about, alarm in draft.book.alarms if about == subject and alarm.startswith(prefix)
    ]
    for alarm in standing:
        if alarm not in wanted:
            draft.record(AlarmSet(draft.now, subject, alarm, ""))
    for alarm, message in wanted.items():
        if message != said(draft, subject, alarm):
            draft.record(AlarmSet(draft.now, subject, alarm, message))


def said(draft: Transaction, subject: str, alarm: str) -> str:
    """What an alarm that stands says; empty = it does not stand."""
    told = draft.book.alarms.get((subject, alarm))
    return told.message if told else ""
