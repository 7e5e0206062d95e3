"""Events leave the ledger only at a checkpoint; what stays is proved, used and moved as ever."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

import httpx2
import msgspec
import pytest
from fastapi.testclient import TestClient

from ganglion.cli.server import checkup_server
from ganglion.client import Client
from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.transfer import backed_up, exported, imported
from ganglion.model.errors import Conflict, EnvironmentFault, NotFound
from ganglion.model.events import MetricReported
from ganglion.model.policy import Policy
from ganglion.server.commands import holds
from ganglion.server.commands.submission import retry
from ganglion.server.controllers.controller import Controllers
from ganglion.server.recovery import retention as ledger_retention
from ganglion.server.recovery import written
from ganglion.server.recovery.recover import replayed, restored
from ganglion.server.recovery.retention import ARCHIVE, LedgerRetention
from ganglion.server.recovery.verify import LedgerVerdict, verified
from ganglion.server.requests.context import ServerContext
from ganglion.server.requests.health import alive, ready
from ganglion.server.state.transaction import Transaction
from ganglion.server.views.workloads import filed_detail, history_item
from ganglion.worlds.local.run_files.retention import DAY_MS, FILE, RetentionRule
from tests import effort
from tests.server import cutting
from tests.server.conftest import Rig
from tests.server.recovery.test_checkpoint_snapshots import everything, keepers, work


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    monkeypatch.setattr(written, "SNAPSHOT", 20)
    monkeypatch.setattr(written, "REMEMBERED", 4)
    made = Rig(tmp_path / "home", keepers)
    yield made
    made.ledger.close()


def told(rig: Rig, **rule: object) -> LedgerRetention:
    (rig.home.root / FILE).write_bytes(msgspec.json.encode(rule))
    return LedgerRetention(rig.home.root, rig.ledger, rig.do, rig.world.now)


def days_pass(rig: Rig, days: int) -> None:
    rig.machine.time += days * DAY_MS


def verdict(path: Path) -> LedgerVerdict:
    reader = Reader.at_rest(path)
    try:
        return verified(reader)
    finally:
        reader.leave()


def aged(rig: Rig, seed: int = 1) -> LedgerRetention:
    """A ledger with a month behind it."""
    made = told(rig, event_days=30)
    assert made.sweep() is None
    work(rig, Random(seed), 20)
    days_pass(rig, 31)
    work(rig, Random(seed + 1), 12)
    return made


def first_event(rig: Rig) -> int:
    return rig.ledger.events(0, 1)[0].seq


@pytest.mark.parametrize("seed", range(3))
def test_old_events_leave_at_a_checkpoint_and_the_state_is_the_same(rig: Rig, seed: int) -> None:
    retention = aged(rig, seed)
    head = rig.ledger.head
    history = rig.ledger.history.ended(below=1 << 60, limit=999)
    cut = retention.sweep()
    assert cut is not None
    assert first_event(rig) == cut.seq + 1 > 1
    assert rig.ledger.head > head
    rig.service._copy.catch_up()
    assert rig.service._copy._mind is not None
    before = everything(rig.service._copy._mind)  # it has followed every event
    assert everything(replayed(rig.ledger, Policy())) == before
    assert everything(restored(rig.ledger, Policy(), Controllers(keepers()))) == before
    assert rig.ledger.history.ended(below=1 << 60, limit=999) == history
    work(rig, Random(seed + 7), 8)
    assert rig.service.trouble == ""
    found = verdict(rig.home.ledger)
    assert (found.flaws, found.sound, found.head) == ([], True, rig.ledger.head)
    rig.crash()
    assert everything(replayed(rig.ledger, Policy()))["flaws"] == {}


def test_a_stream_does_not_pass_over_events_that_have_left(rig: Rig) -> None:
    cut = aged(rig).sweep()
    assert cut is not None
    rig.feed.check(0)
    rig.feed.check(cut.seq)
    for gone in (1, cut.seq - 1):
        with pytest.raises(Conflict, match=f"up to {cut.seq} have left"):
            rig.feed.check(gone)


def test_nothing_leaves_unless_the_home_says_so(rig: Rig) -> None:
    assert (
        RetentionRule().event_days,
        RetentionRule().event_megabytes,
        RetentionRule().detail_days,
    ) == (0, 0, 0)
    retention = told(rig)
    work(rig, Random(1), 20)
    days_pass(rig, 9_999)
    rig.submit("late")
    assert retention.sweep() is None
    assert first_event(rig) == 1
    assert len(rig.ledger.snapshots()) <= 2


def test_nothing_of_a_legal_hold_leaves_until_it_is_released(rig: Rig) -> None:
    retention = aged(rig)
    rig.do(lambda draft: holds.place(draft, "case-1", 0, "a court asks", "ada"))
    assert retention.sweep() is None
    assert (first_event(rig), retention.trouble) == (1, "")
    with pytest.raises(Conflict, match="hold 'case-1' already"):
        rig.do(lambda draft: holds.place(draft, "case-1", 0, "another", "eve"))
    again = replayed(rig.ledger, Policy())
    assert [*again.book.rights.holds] == ["case-1"]
    rig.do(lambda draft: holds.release(draft, "case-1", "ada"))
    assert retention.sweep() is not None
    assert first_event(rig) > 1
    with pytest.raises(NotFound, match="no hold 'case-1'"):
        rig.do(lambda draft: holds.release(draft, "case-1", "ada"))


def test_a_legal_hold_since_a_time_lets_older_events_leave(rig: Rig) -> None:
    retention = aged(rig)
    work(rig, Random(5), 20)
    days_pass(rig, 31)
    rig.submit("late")
    newest, *_, oldest = rig.ledger.snapshots()
    rig.do(lambda draft: holds.place(draft, "case-1", oldest.at + 1, "a court asks", "ada"))
    cut = retention.sweep()
    assert cut is not None
    assert cut.seq == oldest.seq < newest.seq
    assert retention.sweep() is None
    assert first_event(rig) == oldest.seq + 1
    rig.do(lambda draft: holds.release(draft, "case-1", "ada"))
    later = retention.sweep()
    assert later is not None
    assert later.seq > oldest.seq


def test_a_hold_that_is_placed_while_the_ledger_is_being_cut_counts(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    retention = aged(rig)

    def placed(reader: Reader) -> object:
        rig.do(lambda draft: holds.place(draft, "case-1", 0, "a court asks", "ada"))
        return audited(reader)

    monkeypatch.setattr(ledger_retention, "audited", placed)
    with pytest.raises(Conflict, match="placed meanwhile"):
        retention.sweep()
    assert first_event(rig) == 1


def test_what_is_known_of_workloads_stays_while_a_hold_lasts(rig: Rig) -> None:
    retention = told(rig, detail_days=30)
    work(rig, Random(1), 20)
    days_pass(rig, 99)
    rig.do(lambda draft: holds.place(draft, "case-1", 0, "a court asks", "ada"))
    before = rig.ledger.history.ended(below=1 << 60, limit=999)
    retention.sweep()
    assert rig.ledger.trim(1 << 60, 999) == len(before) > 0, "something had been trimmed"


def test_what_leaves_is_in_an_archive_that_is_a_ledger_of_its_own(rig: Rig, tmp_path: Path) -> None:
    retention = aged(rig)
    before = rig.ledger.events(0, 10_000)
    cut = retention.sweep()
    assert cut is not None
    file = rig.home.root / cut.archive
    assert file == rig.home.root / ARCHIVE / f"events-1-{cut.seq}.jsonl.gz"
    archived = Ledger.open(tmp_path / "archived.db")
    imported(archived, file)
    assert archived.events(0, 10_000) == before[: cut.seq]
    assert archived.checksum == cut.checksum
    archived.close()
    retention = told(rig, event_days=30, archive=False)
    days_pass(rig, 40)
    work(rig, Random(5), 20)
    days_pass(rig, 40)
    rig.submit("late")
    later = retention.sweep()
    assert later is not None
    assert (later.seq > cut.seq, later.archive) == (True, "")
    assert [each.name for each in (rig.home.root / ARCHIVE).iterdir()] == [file.name]


def test_by_size_no_more_leaves_than_has_to(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ganglion.server.recovery.retention.MB", 20_000)
    retention = told(rig, event_megabytes=1)
    retention.sweep()
    most = retention._most_events(RetentionRule(event_megabytes=1))
    for seed in range(9):
        work(rig, Random(seed), 6)
        retention.sweep()
        assert rig.ledger.head - first_event(rig) <= 2 * most
    assert first_event(rig) > 1
    assert rig.ledger.head - first_event(rig) >= most // 3
    assert verdict(rig.home.ledger).sound


def test_a_cut_ledger_is_exported_imported_and_backed_up(rig: Rig, tmp_path: Path) -> None:
    assert aged(rig).sweep()
    everywhere = [tmp_path / "moved.db", tmp_path / "backup.db"]
    exported(rig.ledger, tmp_path / "all.jsonl.gz")
    moved = Ledger.open(everywhere[0])
    imported(moved, tmp_path / "all.jsonl.gz")
    assert (moved.head, moved.checksum) == (rig.ledger.head, rig.ledger.checksum)
    wanted = everything(replayed(rig.ledger, Policy()))
    assert everything(replayed(moved, Policy())) == wanted
    moved.close()
    backed_up(rig.home.ledger, everywhere[1])
    for each in everywhere:
        assert (verdict(each).flaws, verdict(each).sound) == ([], True)


def test_a_cut_works_on_postgresql_too(rig: Rig, tmp_path: Path, database: str) -> None:
    work(rig, Random(3), 14)
    with rig.ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE workloads SET request_hash = ''")
    exported(rig.ledger, tmp_path / "all.jsonl")
    ledger = Ledger.open(database)
    imported(ledger, tmp_path / "all.jsonl")
    cut = cutting.cut(ledger, tmp_path / "other")
    assert ledger.events(0, 1)[0].seq == cut.seq + 1
    with ledger.still() as reader:
        assert verified(reader).flaws == []
    wanted = everything(replayed(rig.ledger, Policy()))
    assert everything(replayed(ledger, Policy())) == wanted
    ledger.close()


def test_a_damaged_ledger_is_not_cut(rig: Rig) -> None:
    retention = aged(rig)
    with rig.ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET at = at + 1 WHERE seq = 7")
    assert retention.sweep() is None
    assert first_event(rig) == 1
    here = ServerContext(rig.service, rig.home, rig.feed, rig.metrics, "ada")
    here.uncut = lambda: retention.trouble
    assert ready(here).trouble.startswith("the ledger is not cut, as it is damaged: event 7: the")
    assert alive(here).trouble == ""
    with rig.ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET at = at - 1 WHERE seq = 7")
    assert retention.sweep() is not None
    assert ready(here).trouble == ""


def test_doctor_says_that_a_damaged_ledger_is_not_cut(
    rig: Rig, context: ServerContext, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ""

    def asked(request: httpx2.Request) -> httpx2.Response:
        found = client.request(request.method, str(request.url))
        return httpx2.Response(found.status_code, content=found.content)

    def from_home(*, timeout_s: float = 30.0) -> Client:
        return Client("http://localhost", "secret", transport=httpx2.MockTransport(asked))

    def findings() -> dict[str, tuple[str, str]]:
        found = checkup_server.server(rig.home.root, {"GANGLION_URL": "http://localhost"})
        return {each.check: (each.status, each.message) for each in found}

    monkeypatch.setattr(Client, "from_home", from_home)
    context.uncut = lambda: said
    assert findings()["server: retention"] == ("ok", "works")
    rig.service.stop()
    retention = aged(rig)
    with rig.ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET at = at + 1 WHERE seq = 7")
    assert retention.sweep() is None
    said = retention.trouble
    status, message = findings()["server: retention"]
    assert status == "warn"
    assert message.startswith("the ledger is not cut, as it is damaged: event 7: ")


def size(rig: Rig) -> int:
    return rig.home.ledger.stat().st_size


def test_the_file_gets_smaller_while_the_server_writes(rig: Rig, tmp_path: Path) -> None:
    told(rig, event_days=30).sweep()
    job = rig.submit("a")
    rig.turn()
    for _ in range(31):
        rig.world.facts = [
            MetricReported(rig.machine.time + n, f"{job}/0", 1, "loss", n, 0.5) for n in range(200)
        ]
        rig.turn()
        days_pass(rig, 1)
    days_pass(rig, 28)
    rig.crash()  # so that nothing is in the log alone
    rig.turn(2)
    before, freed = size(rig), 0
    give_back = rig.ledger.give_back

    def between(limit: int) -> int:
        nonlocal freed
        found = give_back(limit)
        freed += found
        rig.submit(f"b{rig.ledger.head}")  # another turn is written between two steps
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig.ledger, "give_back", between)
        patch.setattr("ganglion.server.recovery.retention.PAGES", 20)
        assert told(rig, event_days=30).sweep()
    assert freed > 40
    rig.crash()
    assert size(rig) < before * 3 // 4
    assert (verdict(rig.home.ledger).flaws, rig.service.trouble) == ([], "")


def test_a_file_that_an_earlier_version_made_is_cut_and_stays_as_large(rig: Rig) -> None:
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger, isolation_level=None) as raw:
        raw.execute("PRAGMA journal_mode=DELETE")
        raw.execute("PRAGMA auto_vacuum=NONE")
        raw.execute("VACUUM")
    raw.close()
    rig.start()
    assert aged(rig).sweep()
    assert rig.ledger.give_back(1) == 0


EDITS = {
    "was changed": "UPDATE snapshots SET body = zeroblob(10) WHERE seq = {seq}",
    "is missing": "DELETE FROM snapshots WHERE seq = {seq}",
    "no event says": "UPDATE cuts SET digest = zeroblob(32)",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_the_checkpoint_is_named(rig: Rig, edit: str) -> None:
    cut = aged(rig).sweep()
    assert cut is not None
    rig.ledger.close()
    with sqlite3.connect(rig.home.ledger) as raw:
        raw.execute(EDITS[edit].format(seq=cut.seq))
    raw.close()
    try:
        found = [flaw.problem for flaw in verdict(rig.home.ledger).flaws]
    except EnvironmentFault as error:
        assert "no snapshot can be used" in error.message
        reader = Reader.at_rest(rig.home.ledger)
        found = [flaw.problem for flaw in cutting.audit(reader)]
        reader.leave()
    assert any(edit in each for each in found)
    rig.start()
    assert rig.service.trouble == "", "a newer snapshot is used"


def test_of_workloads_that_ended_long_ago_lists_show_the_same(rig: Rig) -> None:
    retention = told(rig, detail_days=7)
    sweep = rig.submit("s", kind="sweep", params={"x": [1, 2, 3]})
    rig.turn(2)
    for index in range(3):
        rig.machine.end(f"{sweep}/{index}", *cutting.FAILED)
    rig.turn(2)
    before = history_item(rig.ledger.history.page(cutting.ANY, None, 9)[0])
    retention.sweep()
    assert rig.ledger.history.by_id(sweep).document != b"{}"  # type: ignore[union-attr]
    days_pass(rig, 8)
    rig.submit("b")
    retention.sweep()
    filed = rig.ledger.history.by_id(sweep)
    assert filed is not None
    assert history_item(filed) == before
    assert (before.gangs, before.spent is not None) == (3, True)
    assert filed_detail(filed).gangs == ()

    def again(draft: Transaction) -> None:
        retry.retry(draft, sweep, "ada")

    with pytest.raises(Conflict, match="not kept any more"):
        rig.do(again)


SEEDS = effort.examples(5)


def test_a_server_that_is_killed_while_it_cuts_leaves_a_ledger_that_opens(
    rig: Rig, tmp_path: Path
) -> None:
    work(rig, Random(2), 40)
    rig.service.stop()
    wanted = everything(replayed(rig.ledger, Policy()))
    exported(rig.ledger, tmp_path / "all.jsonl")
    took = 0.0
    for seed in range(SEEDS + 1):
        folder = tmp_path / f"h{seed}"
        folder.mkdir()
        path, begun = folder / "ledger.db", time.monotonic()
        copy = Ledger.open(path)
        imported(copy, tmp_path / "all.jsonl")
        copy.close()
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.server.cutting", str(path)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        begun = time.monotonic()
        if seed:
            time.sleep(random.Random(seed).random() * took)
            os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
        child.stdout.close()
        took = took or time.monotonic() - begun
        assert verdict(path).flaws == []
        ledger = Ledger.open(path)
        assert everything(replayed(ledger, Policy())) == wanted
        cutting.finish(ledger)
        base = ledger.base()
        assert ledger.events(0, 1)[0].seq == (base.seq + 1 if base else 1)
        assert sha256(ledger.checksum)
        ledger.close()
        assert verdict(path).flaws == []
