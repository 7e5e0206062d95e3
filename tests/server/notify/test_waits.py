"""Notices of long waits: one for each wait, with its reason, of work here and in clusters."""

from collections.abc import Iterator
from functools import partial

import pytest

from ganglion.model.behaviour import Notify
from ganglion.model.events import (
    OrderedReason,
    ReasonsChanged,
    SchedulerSettled,
    WaitGroups,
    WaitOrder,
)
from ganglion.server.commands import live
from ganglion.server.notify import notifier as notifying
from ganglion.server.notify import waits
from ganglion.server.notify.notices import Notice, subject
from ganglion.server.notify.notifier import Notifier
from ganglion.server.notify.waits import NotedWait, Sight, WaitLook, open_wishes, waiting_now
from tests.server.conftest import Rig
from tests.server.delivered.stories import begun, gang, submitted, turns
from tests.server.delivered.test_receive import deliver

TO = "ada@example.org"
MINUTE = 60_000


def looking(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, sees: Sight = lambda *_: True
) -> tuple[Notifier, list[Notice]]:
    """A notifier that looks at what waits, and what it sent."""
    sent: list[Notice] = []
    monkeypatch.setattr(notifying, "send", lambda notice, *_: sent.append(notice))
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    made.attend(partial(waiting_now, rig.service.read, sees))
    return made, sent


def after(rig: Rig, notifier: Notifier, minutes: int) -> None:
    """Time passes, and the notifier looks."""
    rig.machine.time += minutes * MINUTE
    rig.turn()
    notifier._look()
    notifier._deliver()


def test_each_wish_gets_one_notice_of_a_wait_and_another_of_the_next_wait() -> None:
    soon, late = (Notify(("waiting",), (TO,), waiting_ms=each) for each in (30, 60))
    found = partial(open_wishes, (soon, late))
    assert found(None, 0, 29) == ()
    assert found(None, 0, 31) == (soon,)
    assert found(NotedWait(31, 31), 0, 59) == ()
    assert found(NotedWait(31, 31), 0, 61) == (late,)
    assert found(NotedWait(61, 61), 70, 20) == ()  # another wait
    assert found(NotedWait(61, 61), 70, 31) == (soon,)


def test_the_state_is_free_between_two_parts_of_a_look(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "AT_ONCE", 2)
    notifier, sent = looking(rig, monkeypatch)
    for name in ("first", "second"):
        rig.submit(name, resources={"gpus": 8})
    ids = [rig.submit(f"w{n}", resources={"gpus": 8}) for n in range(6)]
    notifier.choices.set("ada", [Notify(("waiting",), (TO,), waiting_ms=30 * MINUTE)])
    rig.machine.time += 31 * MINUTE
    rig.turn()

    def look_at(parts: int, noted: dict[str, NotedWait]) -> Iterator[WaitLook]:
        """In this many parts, with a turn that cancels the last but one of them between two."""
        found = waiting_now(
            rig.service.read, lambda *_: True, rig.machine.time, lambda *_: wishes, noted
        )
        for number, part in enumerate(found):
            assert len(part) <= 2
            if number == 1:
                rig.do(lambda draft: live.cancel(draft, ids[4], "ada"))
            yield from part
        assert number + 1 == parts

    wishes = notifier.choices.of("ada")
    found = list(look_at(4, {}))
    assert [each.id for each in found] == [*ids[:4], ids[5]]  # what ended meanwhile is left out
    assert all(each.due == wishes and each.facts["WAITED"] == "31m" for each in found)
    notifier._look()
    assert set(notifier._memory.waits) == {each.id for each in found}
    noted = dict(notifier._memory.waits)
    rig.machine.time += MINUTE
    notifier._look()
    assert notifier._memory.waits == noted
    notifier._deliver()
    assert len(sent) == 5


def test_a_long_wait_is_notified_once_with_its_reason_and_its_numbers(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier, sent = looking(rig, monkeypatch)
    notifier.choices.set("ada", [Notify(("waiting",), (TO,), waiting_ms=30 * MINUTE)])
    for name in ("first", "second"):
        rig.submit(name, resources={"gpus": 8})
    own = {"on": ["waiting"], "waiting": "2h", "mail": "own@example.org"}
    rig.submit("waits", resources={"gpus": 8})
    rig.submit("patient", resources={"gpus": 8}, notify=own)
    rig.submit("silent", resources={"gpus": 8}, notify=TO)
    held = rig.submit("held", resources={"gpus": 8}, hold=True)
    after(rig, notifier, 29)
    assert sent == []
    after(rig, notifier, 2)
    (notice,) = sent
    assert subject(notice) == "waits-3 has waited for 31m"
    assert (notice.event, notice.to) == ("waiting", TO)
    assert notice.facts["REASON"] == "capacity"
    assert "8" in notice.facts["MESSAGE"]
    assert rig.state(held) == "QUEUED"
    kept = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    kept.attend(partial(waiting_now, rig.service.read, lambda *_: True))
    after(rig, kept, 90)  # another server goes on with what this one noted
    assert [each.to for each in sent] == [TO, "own@example.org"]


def test_a_wait_in_a_cluster_is_notified_where_its_user_may_see_the_queue(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set[tuple[str, str]]()
    notifier, sent = looking(rig, monkeypatch, lambda user, queue: (user, queue) in seen)
    notifier.choices.set("lab", [Notify(("waiting",), (TO,), waiting_ms=30 * MINUTE)])
    key, reason = gang("train").id, ReasonsChanged(1_000, {"quota": (gang("train").id,)})
    order = WaitOrder(1_000, (key,), (OrderedReason("quota", "6 of 6 GPUs", (1,)),))
    rest = turns(
        ([*begun(1_000), submitted(1_000, "train"), SchedulerSettled(1_000)], []),
        ([WaitGroups(1_000, {"1": (key,)}), reason, order], []),
        ([WaitGroups(40 * MINUTE, {})], []),
    )
    deliver(rig, rest[:2])
    seen.add(("lab", "east:team"))
    after(rig, notifier, 60)
    assert sent == []  # its scheduler has said nothing for an hour
    deliver(rig, rest[2:])
    seen.clear()
    after(rig, notifier, 1)
    assert sent == []
    seen.add(("lab", "east:team"))
    after(rig, notifier, 1)
    after(rig, notifier, 1)
    (notice,) = sent
    assert notice.workload.startswith("east:train-")
    assert (notice.facts["QUEUE"], notice.facts["MESSAGE"]) == ("east:team", "quota")
    # One who sees the whole cluster gets the sentence, of another wait as well.
    seen.add(("lab", "east:"))
    deliver(rig, turns(([submitted(1_000, "other")], []), first=4))
    deliver(rig, turns(([WaitGroups(1_000, {"1": (gang("other").id,)})], []), first=5))
    told = WaitOrder(1_000, (gang("other").id,), (OrderedReason("quota", "6 of 6 GPUs", (1,)),))
    deliver(rig, turns(([told, WaitGroups(80 * MINUTE, {})], []), first=6))
    after(rig, notifier, 1)
    assert [each.facts["MESSAGE"] for each in sent] == ["quota", "6 of 6 GPUs"]
