"""What the events of a trail say, and where gangs ran."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.audit.trail import at_rest

from ganglion.audit.export import ExportedEvent as Row
from ganglion.audit.export import rows_of
from ganglion.audit.forms import as_csv, as_syslog
from ganglion.audit.placements import PlacementsFound, labels_of, must_of, placements
from ganglion.audit.records import SCHEDULER, AuditRecord, DecisionContext, WantedRecords, records
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.placement import HeldItem, Placement, PodPlacement
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Constraints, Gang, ResolvedModel

EU = {"region": "eu"}
SCAN = "registry.example/scan@sha256:0a"
GPUS = (Device("H100"), Device("H100"))


def node(name: str, labels: dict[str, str], **domains: str) -> Node:
    return Node(name, 8_000, 64, GPUS, {Level(k): v for k, v in domains.items()}, labels)


def place(*pods: tuple[str, int]) -> Placement:
    found = (PodPlacement("main", n, name, (gpu,)) for n, (name, gpu) in enumerate(pods))
    return Placement(tuple(found))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A gang of two nodes that loses one, one in another queue, and a node that is relabelled."""
    ledger = Ledger.open(tmp_path / "ledger.db")
    model = ResolvedModel("models:/scan@good", "models:/scan/3", "3", "sha256:0f")
    scan = Gang("scan-1/0", "scan-1", "ward", "ada", model=model)
    other = Gang("other-2/0", "other-2", "lab", "bob")

    def turn(at: int, facts: list[ev.Event], decisions: list[ev.Event] | None = None) -> None:
        ledger.append(Batch(at, facts, decisions or []))

    turn(
        1_000,
        [
            ev.QueueSet(1_000, Queue("health")),
            ev.QueueSet(1_000, Queue("ward", "health")),
            ev.QueueSet(1_000, Queue("lab")),
            ev.NodeAdded(1_000, node("n1", EU)),
            ev.NodeAdded(1_000, node("n2", {}, region="eu")),
            ev.NodeAdded(1_000, node("n3", {"region": "us"})),
            ev.PolicySet(1_000, Policy(), 3, "root", request="r-1"),
            ev.ServerStarted(1_000, "1.2.3"),
        ],
    )
    turn(
        2_000,
        [ev.GangSubmitted(2_000, scan, SCAN, request="r-2"), ev.GangSubmitted(2_000, other)],
        [
            ev.GangPlaced(2_000, "scan-1/0", 1, place(("n1", 0), ("n2", 1))),
            ev.GangPlaced(2_000, "other-2/0", 1, place(("n3", 0))),
        ],
    )
    turn(3_000, [], [ev.GangResized(3_000, "scan-1/0", 1, place(("n1", 0)))])
    turn(4_000, [ev.PodsLeft(4_000, "scan-1/0", 1)])
    turn(5_000, [ev.NodeAdded(5_000, node("n1", {"region": "us"}))])
    by_ada = Cause(CauseKind.CANCELLED, user="ada")
    turn(6_000, [ev.GangUpdated(6_000, "scan-1/0", held=True, cause=by_ada)])
    turn(7_000, [ev.GangEnded(7_000, "scan-1/0", 1, ev.Outcome.CANCELLED)])
    ledger.close()
    return tmp_path


def rows(home: Path) -> list[Row]:
    with at_rest(home) as reader:
        return list(rows_of(reader, 0))


def shown(home: Path, wanted: WantedRecords) -> list[AuditRecord]:
    return list(records(rows(home), DecisionContext(policy=0), wanted))


def stays(
    home: Path, queue: str = "", since: int = 0, until: int = 0, *must: str
) -> PlacementsFound:
    return placements(rows(home), DecisionContext(policy=0), queue, must_of(must), since, until)


def test_a_record_says_who_for_which_queue_and_under_which_policy(home: Path) -> None:
    found = shown(home, WantedRecords(since=2_000))
    said = [(each.kind, each.actor, each.queue, each.workload, each.policy) for each in found]
    assert said[:3] == [
        ("gang_submitted", "ada", "ward", "scan-1", 3),
        ("gang_submitted", "bob", "lab", "other-2", 3),
        ("gang_placed", SCHEDULER, "ward", "scan-1", 3),
    ]
    assert ("gang_updated", "ada", "ward", "scan-1", 3) in said
    assert said[-1] == ("gang_ended", "", "ward", "scan-1", 3)
    assert (found[0].request, len(found[0].checksum)) == ("r-2", 64)
    assert [each.policy for each in shown(home, WantedRecords(until=2_000))] == [0] * 6 + [3, 3]


def test_the_actor_of_a_grant_a_token_or_a_hold_is_who_gave_it(tmp_path: Path) -> None:
    given: list[ev.Event] = [
        ev.RoleGranted(1, "user:eve", "viewer", "lab", None, "ada"),
        ev.TokenCreated(1, "id", "0f", "eve", (), "viewer", "lab", 9, "", "ada"),
        ev.TokenRevoked(1, "id", "eve", "ada"),
        ev.RoleRevoked(1, "user:eve", "viewer", "lab", "ada"),
        ev.GlassMended(1, "eve", "user:eve", "viewer", "lab", "ada"),
        ev.HoldPlaced(1, "case-1", 0, "a court asks", "ada"),
        ev.HoldReleased(1, "case-1", "ada"),
    ]
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.append(Batch(1, given, []))
    ledger.close()
    assert [each.actor for each in shown(tmp_path, WantedRecords())] == ["ada"] * len(given)


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (WantedRecords(actors=frozenset({"bob"})), ["gang_submitted"]),
        (WantedRecords(queue="lab"), ["queue_set", "gang_submitted", "gang_placed"]),
        (
            WantedRecords(queue="health", since=2_000, until=3_000),
            ["gang_submitted", "gang_placed"],
        ),
        (WantedRecords(workload="other"), ["gang_submitted", "gang_placed"]),
        (WantedRecords(node="n3"), ["node_added", "gang_placed"]),
        (WantedRecords(node="n2"), ["node_added", "gang_placed", "gang_resized"]),
        (
            WantedRecords(node="n1", since=3_000),
            ["gang_resized", "pods_left", "node_added", "gang_updated", "gang_ended"],
        ),
        (WantedRecords(workload="other-2"), ["gang_submitted", "gang_placed"]),
        (WantedRecords(workload="other-2/0"), ["gang_submitted", "gang_placed"]),
        (WantedRecords(kinds=frozenset({"policy_set", "pods_left"})), ["policy_set", "pods_left"]),
        (WantedRecords(workload="oth"), []),
    ],
)
def test_records_are_chosen(home: Path, wanted: WantedRecords, kinds: list[str]) -> None:
    assert [each.kind for each in shown(home, wanted)] == kinds


def test_a_decision_names_policy_software_rule_and_image_as_far_as_they_were_recorded(
    home: Path,
) -> None:
    found = shown(home, WantedRecords(workload="scan"))
    said = [(each.kind, each.policy, each.software, each.rule, each.image) for each in found]
    assert said == [
        ("gang_submitted", 3, "1.2.3", "", SCAN),
        ("gang_placed", 3, "1.2.3", "", SCAN),
        ("gang_resized", 3, "1.2.3", "", SCAN),
        ("pods_left", 3, "1.2.3", "", SCAN),
        ("gang_updated", 3, "1.2.3", "cancelled", SCAN),
        ("gang_ended", 3, "1.2.3", "", SCAN),
    ]
    (before, *_) = shown(home, WantedRecords())
    assert (before.policy, before.software, before.image) == (0, "", "")
    (stay, *_) = stays(home, "health").stays
    assert (stay.policy, stay.software, stay.image) == (3, "1.2.3", SCAN)
    assert stay.model == found[1].model == "models:/scan/3 sha256:0f"


def test_an_event_that_cannot_be_read_is_a_record_all_the_same(home: Path) -> None:
    changed = [replace(each, body='{"type":"gone"}') for each in rows(home)[:2]]
    found = list(records(changed, DecisionContext()))
    assert [each.kind for each in found] == ["queue_set", "queue_set"]
    assert all("cannot be read" in each.problem for each in found)
    assert placements(changed, DecisionContext(), "", {}, 0, 0).unread == [1, 2]


def test_csv_has_one_row_per_record_and_no_formula(home: Path) -> None:
    read = records(rows(home), DecisionContext(policy=0))
    evil = (replace(each, actor="=cmd()") for each in read)
    table = list(csv.DictReader(io.StringIO(b"".join(as_csv(evil)).decode())))
    assert [int(each["seq"]) for each in table] == [*range(1, 18)]
    assert {each["actor"] for each in table} == {"'=cmd()"}
    assert table[0]["time"] == "1970-01-01T00:00:01.000Z"
    assert json.loads(table[8]["event"])["gang"]["id"] == "scan-1/0"


def test_syslog_lines_are_those_of_the_rfc(home: Path) -> None:
    read = records(rows(home), DecisionContext(policy=0))
    evil = [replace(each, actor='a"b]c\\d\n<1>') for each in read]
    lines = b"".join(as_syslog(evil, "box")).decode().splitlines()
    assert len(lines) == len(evil)
    line = re.compile(
        r"<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z box ganglion - [!-~]{1,32} "
        r'\[ganglion@32473( [a-z]+="(?:[^"\\\]]|\\["\\\]])*")+\] \{.*\}'
    )
    assert all(line.fullmatch(each) for each in lines)
    assert r'actor="a\"b\]c\\d <1>"' in lines[0]


def test_stays_have_nodes_devices_times_and_the_labels_of_that_time(home: Path) -> None:
    found = stays(home, "health").stays
    assert [(each.node, each.devices, each.begin, each.end) for each in found] == [
        ("n1", (0,), 2_000, 3_000),
        ("n2", (1,), 2_000, 4_000),
        ("n1", (0,), 3_000, 5_000),
        ("n1", (0,), 5_000, 7_000),
    ]
    assert [each.labels for each in found] == [EU, EU, EU, {"region": "us"}]
    assert {(each.gang, each.queue, each.user) for each in found} == {("scan-1/0", "ward", "ada")}
    assert labels_of(node("n", {"region": "own"}, region="eu")) == EU


def test_a_place_that_breaks_what_must_hold_is_found_also_when_labels_change(home: Path) -> None:
    assert stays(home, "health", 0, 5_000, "region=eu").broken == []
    late = stays(home, "health", 5_000, 0, "region=eu,ch").broken
    assert [(each.node, each.begin, each.broken) for each in late] == [
        ("n1", 5_000, ("region=us",))
    ]
    assert [each.node for each in stays(home, "lab", 0, 0, "region=eu").broken] == ["n3"]
    none = stays(home, "", 0, 2_500, "tier=gold").stays
    assert {each.broken for each in none} == {("tier=(none)",)}


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (Constraints(), ()),
        (Constraints(labels={"region": ("eu", "us")}), ()),
        (Constraints(labels={"region": ("eu",)}), ("region=us",)),
        (Constraints(avoid={"region": ("us",)}), ("region=us",)),
        (Constraints(residency=("us",)), ()),
        (Constraints(residency=("eu",)), ("region=us",)),
    ],
)
def test_a_place_that_the_gang_itself_forbids_is_broken(
    tmp_path: Path, rules: Constraints, broken: tuple[str, ...]
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    gang = Gang("scan-1/0", "scan-1", "ward", constraints=rules)
    facts: list[ev.Event] = [
        ev.NodeAdded(1, node("n1", {"region": "us"}, region="us")),
        ev.GangSubmitted(1, gang),
    ]
    ledger.append(Batch(1, facts, [ev.GangPlaced(1, gang.id, 1, place(("n1", 0)))]))
    ledger.close()
    (stay,) = stays(tmp_path).stays
    assert (stay.constraints, stay.broken) == (rules, broken)


def test_what_ran_where_the_trail_begins_is_a_stay_and_unknown_labels_are_broken() -> None:
    running = ev.GangPlaced(500, "old-1/0", 2, place(("n9", 1)))
    found = placements([], DecisionContext(running=(running,)), "", must_of(["region=eu"]), 0, 0)
    assert [(each.gang, each.seq, each.broken) for each in found.stays] == [
        ("old-1/0", 0, ("region=(none)",))
    ]


def test_a_stay_says_what_its_node_held() -> None:
    held = (HeldItem("n8", "models:/scan/3", 40), HeldItem("n8", "x/serve:1", 2))
    where = replace(place(("n8", 1), ("n9", 1)), held=held)
    context = DecisionContext(running=(ev.GangPlaced(500, "old-1/0", 2, where),))
    first, second = placements([], context, "", {}, 0, 0).stays
    assert first.held == (
        "n8 holds models:/scan/3: about 40 s saved; n8 holds x/serve:1: about 2 s saved"
    )
    assert second.held == ""


@pytest.mark.parametrize("text", ["region", "region=", "=eu", "region=,"])
def test_what_is_no_constraint_is_refused(text: str) -> None:
    with pytest.raises(FieldError, match="no KEY=VALUE"):
        must_of([text])
    with pytest.raises(FieldError):
        must_of(["a=b", "a=c"])
