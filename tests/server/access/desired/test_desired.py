"""`ganglion apply` and `export` against a server: the same bytes, each by the caller's roles."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ganglion.cli.main import run
from ganglion.client import Client
from ganglion.server.delivered.receive import receive
from tests.server.access.conftest import Staffed
from tests.server.access.office import API, Office, office
from tests.server.delivered.stories import begun, turns

FLEET = """
order: fifo
preemption: {delay: 5m}
queues:
- {name: org, quota: {H100: 8}}
- {name: research, parent: org, quota: {H100: 6}, preemption: {protected: 10m}}
- {name: vision, parent: research, weight: 3}
- {name: speech, parent: research, limit: {H100: 4}}
- {name: secretlab, parent: org}
- {name: default}
prices:
- {flavor: H100, price: 2.50, since: 2026-01-01, currency: EUR}
- {flavor: H100, price: 3, since: 2026-06-01}
- {flavor: H100, price: 1.20, since: 2026-01-01, hours: 20:00-08:00, zone: Europe/Berlin}
budgets:
- {queue: research, amount: 8000, carry_over: yes, warn: [60, 90], grace: 1h}
- {queue: vision, amount: 1000.5}
roles:
- {subject: eve, role: viewer}
- {subject: 'group:ml', role: submitter, queue: research, until: 2100-01-01}
- {subject: max, role: admin, break_glass: true}
"""
Command = Callable[..., tuple[int, str, str]]


@contextmanager
def called_by(client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands of this process go to the server of a test client."""

    def from_home(*, timeout_s: float = 30.0) -> Client:
        return Client("http://localhost", token, timeout_s=timeout_s, transport=client._transport)

    with monkeypatch.context() as patch:
        patch.setattr(Client, "from_home", from_home)
        yield


@pytest.fixture
def ganglion(
    staff: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    def call(*args: str, token: str = "secret") -> tuple[int, str, str]:
        with called_by(staff.owner, token, monkeypatch):
            code = run(list(args))
        return (code, *capsys.readouterr())

    return call


@pytest.fixture
def org(tmp_path: Path) -> Path:
    folder = tmp_path / "org"
    folder.mkdir()
    (folder / "fleet.yaml").write_text(FLEET)
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(folder.iterdir())}


def test_export_apply_export_gives_the_same_bytes_on_this_fleet_and_on_another(
    staff: Office,
    ganglion: Command,
    org: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, err = ganglion("apply", "-f", str(org))
    assert (code, err) == (0, "")
    assert "~ queue research" in out
    assert "    quota.H100: 6" in out
    assert ganglion("apply", "-f", str(org))[:2] == (0, "nothing to change\n")
    first, second, third = (tmp_path / each for each in ("first", "second", "third"))
    assert ganglion("export", str(first))[0] == 0
    before = len(staff.events(staff.owner))
    assert ganglion("apply", "-f", str(first), "--prune")[:2] == (0, "nothing to change\n")
    assert len(staff.events(staff.owner)) == before
    assert ganglion("export", str(second))[0] == 0
    assert contents(second) == contents(first)
    other = Staffed(tmp_path / "other")
    other.service.start()
    with office(other) as made, called_by(made.owner, "secret", monkeypatch):
        assert run(["apply", "-f", str(first)]) == 0
        assert run(["export", str(third)]) == 0
    other.service.stop()
    other.ledger.close()
    assert contents(third) == contents(first)


def test_a_plan_shows_drift_and_changes_nothing(
    staff: Office, ganglion: Command, org: Path
) -> None:
    ganglion("apply", "-f", str(org))
    staff.owner.put(f"{API}/queues/vision", json={"parent": "research", "weight": 7})
    staff.owner.put(f"{API}/prices/H100", json={"micro": 4_000_000, "since": 1_785_542_400_000})
    staff.owner.put(f"{API}/queues/extra", json={})
    staff.owner.delete(f"{API}/budgets/vision")
    before = len(staff.events(staff.owner))
    code, out, _ = ganglion("apply", "-f", str(org), "--plan")
    assert (code, len(staff.events(staff.owner))) == (1, before)
    assert out.splitlines() == [
        "~ queue vision",
        "    weight: 7 -> 3",
        "~ price H100",
        "    from.2026-08-01T00:00:00Z: 4.00 -> (none)",
        "+ budget vision",
        "    queue: vision",
        "    amount: 1000.50",
        "    zone: UTC",
        "= queue extra  no file names it; --prune deletes it",
        "1 to create, 2 to change; nothing was changed",
    ]
    code, out, _ = ganglion("apply", "-f", str(org), "--prune")
    assert (code, out.splitlines()[-1]) == (0, "1 created, 2 changed, 1 deleted")
    assert ganglion("apply", "-f", str(org), "--plan")[:2] == (0, "nothing to change\n")


def test_a_plan_that_is_not_known_is_no_drift(
    staff: Office, ganglion: Command, org: Path, tmp_path: Path
) -> None:
    ganglion("apply", "-f", str(org))
    assert ganglion("apply", "-f", str(org), "--plan", token="none")[0] == 2
    assert ganglion("apply", "-f", str(tmp_path / "none"), "--plan")[0] == 2
    staff.grant("user:vera", "viewer", "research")
    code, out, _ = ganglion("apply", "-f", str(org), "--plan", token=staff.token("vera", "viewer"))
    assert (code, "! policy" in out) == (2, True)
    # what would go with --prune alone is no drift without it
    staff.owner.put(f"{API}/queues/extra", json={})
    assert ganglion("apply", "-f", str(org), "--plan")[0] == 0
    assert ganglion("apply", "-f", str(org), "--plan", "--prune")[0] == 1


def test_pruning_leaves_a_queue_with_work_and_says_so(
    staff: Office, ganglion: Command, org: Path
) -> None:
    ganglion("apply", "-f", str(org))
    staff.submit(staff.owner, "job", "speech", hold=True)
    text = (org / "fleet.yaml").read_text()
    kept = [line for line in text.splitlines() if "speech" not in line and "secretlab" not in line]
    (org / "fleet.yaml").write_text("\n".join(kept))
    code, out, _ = ganglion("apply", "-f", str(org), "--prune")
    assert code == 0
    assert "- queue secretlab" in out
    assert "= queue speech  it holds 1 workload" in out
    names = {each["name"] for each in staff.owner.get(f"{API}/queues").json()["items"]}
    assert ("speech" in names, "secretlab" in names) == (True, False)


def test_each_object_is_written_by_the_callers_roles_and_a_refusal_stops_no_other(
    staff: Office, ganglion: Command, org: Path
) -> None:
    ganglion("apply", "-f", str(org))
    staff.grant("user:olga", "owner", "research")
    token = staff.token("olga", "owner", "research")
    (org / "fleet.yaml").write_text(
        "queues:\n- {name: audio, parent: research, quota: {H100: 2}}\n"
        "- {name: research, parent: org, quota: {H100: 8}, preemption: {protected: 10m}}\n"
        "- {name: vision, parent: research, weight: 2}\n"
        "roles: [{subject: ann, role: submitter, queue: vision}]\n"
        "budgets: [{queue: vision, amount: 1}]\n"
    )
    code, out, err = ganglion("apply", "-f", str(org), token=token)
    assert code == 1, out
    assert "queue research" in err
    assert f"{org}/fleet.yaml:3" in err
    assert "budget vision" in err
    rules = {each["name"]: each for each in staff.owner.get(f"{API}/queues").json()["items"]}
    assert rules["audio"]["quota"]["H100"]["gpu_milli"] == 2000
    assert rules["vision"]["over_quota_weight"] == 2
    assert rules["research"]["quota"]["H100"]["gpu_milli"] == 6000
    events = [each for each in staff.events(staff.owner) if each.get("actor") == "olga"]
    assert [each["type"] for each in events].count("queue_set") == 2
    code, out, _ = ganglion("apply", "-f", str(org), "-o", "json", token=token)
    items = {(each["kind"], each["name"]): each for each in json.loads(out)["items"]}
    assert code == 1
    assert ("queue", "audio") not in items
    assert items["queue", "research"]["error"]["code"] == "access"


def test_the_server_says_whose_files_leave_rules_about_the_work_of_others_as_they_are(
    staff: Office, ganglion: Command, org: Path
) -> None:
    ganglion("apply", "-f", str(org))
    rules = {"parent": "research", "limit": {"H100": 4}, "preemption": {"protected": "20m"}}
    assert staff.owner.put(f"{API}/queues/speech", json=rules).status_code == 200
    (org / "fleet.yaml").write_text("queues: [{name: speech, parent: research, limit: {H100: 4}}]")
    staff.grant("user:olga", "owner", "research")
    token = staff.token("olga", "owner", "research")
    assert ganglion("apply", "-f", str(org), "--plan", token=token)[0] == 0
    assert ganglion("apply", "-f", str(org), "--plan")[0] == 1
    seen = [
        each.get(f"{API}/whoami").json()["every_queue"]
        for each in (staff.owner, staff.client(token))
    ]
    assert seen == [True, False]


def test_quotas_of_a_queue_and_of_those_above_change_in_one_call_in_both_directions(
    ganglion: Command, org: Path
) -> None:
    ganglion("apply", "-f", str(org))
    for above, below in ((40, 30), (4, 3)):
        text = FLEET.replace("{H100: 8}", f"{{H100: {above}}}")
        (org / "fleet.yaml").write_text(text.replace("{H100: 6}", f"{{H100: {below}}}"))
        assert ganglion("apply", "-f", str(org))[0] == 0
        assert ganglion("apply", "-f", str(org))[1] == "nothing to change\n"


def test_a_wrong_file_changes_nothing(staff: Office, ganglion: Command, org: Path) -> None:
    (org / "more.yaml").write_text("budgets: [{queue: vison, amount: 1}]\nroles: [{subject: eve}]")
    before = len(staff.events(staff.owner))
    code, out, err = ganglion("apply", "-f", str(org))
    assert (code, out, len(staff.events(staff.owner))) == (2, "", before)
    assert f"{org}/more.yaml:1:" in err
    assert "budgets[0].queue: there is no queue `vison`" in err
    assert f"{org}/more.yaml:2:" in err


def test_what_a_caller_may_not_see_is_left_out_by_name(
    staff: Office, ganglion: Command, tmp_path: Path
) -> None:
    staff.grant("user:vera", "viewer", "research")
    code, _, err = ganglion("export", str(tmp_path / "x"), token=staff.token("vera", "viewer"))
    assert code == 1
    assert "left out: policy" in err
    assert not (tmp_path / "x" / "policy.yaml").exists()
    assert "vision" in (tmp_path / "x" / "queues.yaml").read_text()
    assert "secretlab" not in (tmp_path / "x" / "queues.yaml").read_text()


def test_budgets_and_roles_of_clusters_are_in_files_too(
    staff: Office, ganglion: Command, org: Path, tmp_path: Path
) -> None:
    batch = turns((begun(1), []))
    staff.rig.service.ask(lambda draft: receive(draft, "east", "s1", batch))
    ganglion("apply", "-f", str(org))
    (tmp_path / "more.yaml").write_text(
        "roles: [{subject: bot, role: reporter, queue: 'east:'}]\n"
        "budgets: [{queue: 'east:team', amount: 5}]\n"
    )
    code, out, err = ganglion("apply", "-f", str(tmp_path / "more.yaml"))
    assert (code, err) == (0, "")
    assert "+ budget east:team" in out
    assert ganglion("export", str(tmp_path / "first"))[0] == 0
    applied = ganglion("apply", "-f", str(tmp_path / "first"), "--prune")
    assert applied[:2] == (0, "nothing to change\n")
    (tmp_path / "more.yaml").write_text("budgets: [{queue: 'east:other', amount: 5}]\n")
    assert "no scheduler has named queue" in ganglion("apply", "-f", str(tmp_path / "more.yaml"))[2]
