"""Notices to people, read from the ledger."""

import json
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.model.behaviour import Notify
from ganglion.model.errors import EnvironmentFault, FileError
from ganglion.model.events import AlarmSet, BudgetDenied, BudgetRequested, Event, GlassBroken
from ganglion.server.notify import notifier as notifying
from ganglion.server.notify.choices import NoticeChoices
from ganglion.server.notify.notices import Notice, Recipients, body, send, subject
from ganglion.server.notify.notifier import Notifier
from ganglion.server.notify.settings import NotifySettings, WatchedSettings, read_settings
from ganglion.server.state.transaction import Transaction
from tests.server.conftest import Rig

TO = "ada@example.org"


def collected(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> tuple[Notifier, list[tuple[str, str]]]:
    """A notifier whose notices are noted, not sent."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(notifying, "send", lambda n, *_: sent.append((n.workload, n.event)))
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    return made, sent


def test_a_preemption_is_told_and_a_workload_that_does_not_ask_is_not(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifier, sent = collected(rig, monkeypatch)
    notify = {"on": ["preemption", "start"], "mail": TO}
    for name in ("a", "b"):
        rig.submit(name, resources={"gpus": 8}, priority=10, notify=notify if name == "a" else None)
    rig.turn(3)
    for name in ("c", "d"):
        rig.submit(name, resources={"gpus": 8}, priority=90)
    rig.turn(6)
    notifier._gather()
    notifier._deliver()
    assert sent == [("a-1", "start"), ("a-1", "preemption")]


def test_a_user_chooses_for_workloads_that_do_not_say_and_each_recipient_has_its_events(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, str, str]] = []
    monkeypatch.setattr(notifying, "send", lambda n, *_: sent.append((n.workload, n.event, n.to)))
    (rig.home.root / "notify.yaml").write_text("on: [start]\nmail: [ops@example.org]\n")
    notifier = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    workload = rig.submit("usual")
    rig.turn(2)
    notifier._gather()
    user = rig.ledger.history.by_id(workload)
    assert user is not None
    chosen = [Notify(("end",), (TO,)), Notify(("start", "end"), webhook=("https://a.example",))]
    notifier.choices.set(user.workload.user, chosen)
    rig.submit("chosen")
    rig.submit("own", notify={"on": ["end"], "mail": "own@example.org"})
    rig.turn(2)
    for name in ("chosen-2", "own-3"):
        rig.machine.end(f"{name}/0")
    rig.turn(2)
    notifier._gather()
    notifier._deliver()
    assert sorted(sent) == [
        ("chosen-2", "end", TO),
        ("chosen-2", "end", "https://a.example"),
        ("chosen-2", "start", "https://a.example"),
        ("own-3", "end", "own@example.org"),
        ("usual-1", "start", "ops@example.org"),
    ]


def test_choices_that_cannot_be_read_are_not_overwritten(rig: Rig) -> None:
    path = rig.home.root / "notify-users.json"
    path.write_text("{broken")
    choices = NoticeChoices(rig.home.root)
    assert choices.of("ada") == ()
    with pytest.raises(FileError, match="cannot be read"):
        choices.set("ada", [Notify(mail=(TO,))])
    assert path.read_text() == "{broken"


def test_the_past_is_not_told_and_the_queue_is_bounded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.submit("old", notify=TO)
    rig.turn(3)
    rig.machine.end("old-1/0")
    rig.turn(2)
    notifier, sent = collected(rig, monkeypatch)
    monkeypatch.setattr(notifying, "MOST", 2)
    for n in range(3):
        workload = rig.submit(f"new{n}", notify=TO)
        rig.turn(2)
        rig.machine.end(f"{workload}/0")
        rig.turn(2)
    notifier._gather()
    notifier._deliver()
    assert sent == [("new1-3", "end"), ("new2-4", "end")]
    assert "dropped" in notifier.failures("new0-2")
    kept = json.loads((rig.home.root / "notify.json").read_text())
    assert (kept["pending"], kept["seq"]) == ([], rig.ledger.head)


def test_notices_of_a_workload_come_in_order_and_a_silent_recipient_holds_up_no_other(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, str, str]] = []
    failing = {"https://a.example"}

    def sending(notice: Notice, *_: object) -> None:
        tried.append((notice.workload, notice.event, notice.to))
        if notice.to in failing:
            raise EnvironmentFault("a.example answered 500")

    monkeypatch.setattr(notifying, "send", sending)
    notifier = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    first, second = "https://a.example", "https://b.example"
    for name in ("x", "y"):
        notify = {"on": ["start", "end"], "webhook": [first, second]}
        workload = rig.submit(name, notify=notify)
        rig.turn(2)
        rig.machine.end(f"{workload}/0")
        rig.turn(2)
    notifier._gather()
    pause = notifier._deliver()
    assert [each for each in tried if each[2] == first] == [("x-1", "start", first)]
    assert [each[:2] for each in tried if each[2] == second] == [
        ("x-1", "start"),
        ("x-1", "end"),
        ("y-2", "start"),
        ("y-2", "end"),
    ]
    assert pause == 0  # the other workload's start is due
    failing.clear()
    tried.clear()
    notifier._deliver()
    assert [each[:2] for each in tried] == [("y-2", "start"), ("y-2", "end")]
    rig.machine.time += 60_000
    tried.clear()
    notifier._deliver()
    assert [each[:2] for each in tried] == [("x-1", "start"), ("x-1", "end")]


@pytest.mark.parametrize("value", ["", "short", "whsec_c2hvcnQ=", "a" * 400, "no base64 at all!"])
def test_what_is_no_key_signs_nothing_and_is_not_shown(rig: Rig, value: str) -> None:
    notice = Notice(1, "x-1", "end", "webhook", "https://a.example", {"USER": "ada"}, "secret:KEY")
    notice.facts |= {"STATE": "", "EXIT_CODE": "", "MESSAGE": ""}
    with pytest.raises(EnvironmentFault, match="secret KEY is no key of 24 to 64 bytes") as raised:
        send(notice, NotifySettings(), Recipients(secret=lambda *_: value))
    assert not value or value not in raised.value.message


GLASS = GlassBroken(1, "eve", "user:eve", "admin", "", "node fire in hall 2", 1, 3_600_000)
HOOK = "on: [break-glass]\nmail: [ops@example.org]\nwebhook: ['secret:HOOK']\n"


def broken(rig: Rig, settings: str, monkeypatch: pytest.MonkeyPatch) -> list[Notice]:
    """The notices that broken glass leads to."""
    sent: list[Notice] = []
    monkeypatch.setattr(notifying, "send", lambda notice, *_: sent.append(notice))
    (rig.home.root / "notify.yaml").write_text(settings)
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    rig.do(lambda draft: draft.record(replace(GLASS, at=draft.now)))
    made._gather()
    made._deliver()
    return sent


def test_broken_glass_is_told_at_once_to_all_whom_the_settings_name(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = broken(rig, HOOK, monkeypatch)
    assert [(each.event, each.recipient) for each in sent] == [
        ("break-glass", "mail to ops@example.org"),
        ("break-glass", "webhook secret:HOOK"),
    ]
    assert subject(sent[0]) == (
        "eve broke the glass: role admin on the whole fleet until 1970-01-01 01:00:00 UTC"
    )
    assert "message: node fire in hall 2\n" in body(sent[0])
    assert body(sent[0]).endswith("ganglion audit show --glass\n")


@pytest.mark.parametrize(
    ("settings", "count"),
    [("mail: [ops@example.org]", 1), ("on: [failure]\nmail: [ops@example.org]", 0), ("", 0)],
)
def test_broken_glass_is_told_unless_the_settings_name_other_things_only(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, settings: str, count: int
) -> None:
    assert len(broken(rig, settings, monkeypatch)) == count


def test_who_breaks_the_glass_does_not_say_where_the_notice_goes(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notice,) = (n for n in broken(rig, HOOK, monkeypatch) if n.channel == "webhook")
    asked: list[tuple[str, str]] = []

    def secret(user: str, name: str) -> None:
        asked.append((user, name))

    with pytest.raises(EnvironmentFault, match="no secret HOOK"):
        send(notice, NotifySettings(), Recipients(secret=secret, owner="ada"))
    assert asked == [("ada", "HOOK")]


def _recorded(event: Event, draft: Transaction) -> None:
    draft.record(event)


def budgeted(rig: Rig, settings: str, monkeypatch: pytest.MonkeyPatch) -> list[Notice]:
    """The notices that alarms about a budget lead to."""
    sent: list[Notice] = []
    monkeypatch.setattr(notifying, "send", lambda notice, *_: sent.append(notice))
    (rig.home.root / "notify.yaml").write_text(settings)
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    rig.submit("a", notify={"on": ["budget"], "mail": TO})
    for subject_, alarm in (("queues/org", "budget.80"), ("a-1", "budget.spent"), ("n1", "other")):
        for said in ("80 % are spent", ""):
            event = AlarmSet(1, subject_, alarm, said)
            rig.do(partial(_recorded, event))
    made._gather()
    made._deliver()
    return sent


def test_budgets_are_notified_of_once_to_the_home_and_to_who_asked_for_a_workload(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, job = budgeted(rig, "webhook: ['secret:HOOK']\n", monkeypatch)
    assert (queue.event, queue.workload, queue.to) == ("budget", "", "secret:HOOK")
    assert subject(queue) == "budget of queue org"
    assert queue.facts["MESSAGE"] == "80 % are spent"
    assert body(queue).endswith("ganglion budget list\n")
    assert (job.event, job.workload, job.to) == ("budget", "a-1", TO)
    assert subject(job) == "a-1, budget of queue default"


def test_requests_for_budgets_are_notified_of_with_their_answer(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Notice] = []
    monkeypatch.setattr(notifying, "send", lambda notice, *_: sent.append(notice))
    (rig.home.root / "notify.yaml").write_text("mail: [boss@example.org]\n")
    made = Notifier(rig.home.root, rig.ledger, lambda: rig.machine.time)
    rig.do(partial(_recorded, BudgetRequested(1, 7, "org", 3_000_000, 9, "the rerun", "bob")))
    rig.do(partial(_recorded, BudgetDenied(2, 7, "org", "zoe")))
    made._gather()
    made._deliver()
    asked, answered = sent
    assert subject(asked) == "request 7, budget of queue org"
    said = "bob asks for 3.00 more until the month is over: the rerun"
    assert asked.facts["MESSAGE"] == said
    assert body(asked).endswith("ganglion budget requests\n")
    assert answered.facts["MESSAGE"] == "zoe denied the request"


def test_who_asks_for_other_things_only_is_not_notified_of_budgets(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = budgeted(rig, "on: [failure]\nwebhook: ['secret:HOOK']\n", monkeypatch)
    assert [each.workload for each in sent] == ["a-1"]


def test_the_settings_say_what_is_told_as_the_page_writes_it(tmp_path: Path) -> None:
    (tmp_path / "notify.yaml").write_text("on: [failure]\nmail: [ops@example.org]\n")
    assert read_settings(tmp_path) == NotifySettings(on=("failure",), mail=("ops@example.org",))


def test_the_settings_are_read_when_they_have_changed(tmp_path: Path) -> None:
    watched = WatchedSettings(tmp_path)
    assert watched.read() == NotifySettings()
    file = tmp_path / "notify.yaml"
    file.write_text("commands: true")
    first = watched.read()
    assert first.commands
    assert watched.read() is first
    file.write_text("commands: maybe")
    for _ in range(2):
        with pytest.raises(FileError, match=r"notify\.yaml"):
            watched.read()
    file.unlink()
    assert watched.read() == NotifySettings()
