"""All errors of an input come in one round: unknown keys, wrong values and contradictions."""

from collections.abc import Callable

import pytest

from ganglion.model.errors import FieldError
from ganglion.specs.cluster.cluster import parse_cluster
from ganglion.specs.policy.bookings import parse_booking
from ganglion.specs.policy.policy import parse_policy
from ganglion.specs.workload.workload import from_document, parse_workloads

DAY = "2026-12-01T08:00Z"


def found(parse: Callable[[str, str], object], text: str) -> list[str]:
    """Every error as `line:column key: problem`, up to the words that name it."""
    with pytest.raises(FieldError) as caught:
        parse(text, "f.yaml")
    assert {each.file for each in caught.value.errors} == {"f.yaml"}
    return [f"{each.line}:{each.column} {each.key}: {each.problem}" for each in caught.value.errors]


def matches(lines: list[str], expected: list[str]) -> bool:
    """Whether there are these errors and no others; of each, its beginning is given."""
    pairs = zip(lines, expected, strict=False)
    return len(lines) == len(expected) and all(line.startswith(each) for line, each in pairs)


WORKLOADS = [
    (
        "run: [x, {a: 1}, [y]]\nenv:\n- A-B=1\n- OK=1\n- OK=2\n- {C: 1}\n"
        "after: [Not A Name, b, 'sometimes:c']\ntrials: [{a: 1}, {b: 1}, {}]\n"
        "retry: {on: [explosion, preemption, flood]}\n"
        "notify: {mail: [nobody, a@b.c, '@x'], webhook: [x]}\n"
        "node_selector: {zone: [a, {b: 1}], rack: [[c]]}",
        [
            "1:10 run[1]: expected text",
            "1:18 run[2]: expected text",
            "3:3 env[0]: `A-B` is not the name",
            "5:3 env[2]: the variable `OK` is given twice",
            "6:3 env[3]: expected text",
            "7:9 after[0]: `Not A Name` is not",
            "7:24 after[2]: `sometimes:c` is not a dependency",
            "8:18 trials[1]: trial 1 has other parameters",
            "8:26 trials[2]: trial 2 has no parameters",
            "9:14 retry.on[0]: `explosion`",
            "9:37 retry.on[2]: `flood`",
            "10:17 notify.mail[0]: `nobody`",
            "10:32 notify.mail[2]: `@x`",
            "10:49 notify.webhook[0]: `x` is no URL",
            "11:27 node_selector.zone[1]: expected text",
            "11:43 node_selector.rack[0]: expected text",
        ],
    ),
    (
        "run: x\nzebra: 1\nnodes: two\nmemory: 1Gi\nshm_size: 2Gi\ngroups: [{size: 4}]\n"
        "kind: service\nreplicas: 1..4\nparams: {a: 1}\ncheckpoint: {interval: 0}",
        [
            "2:1 zebra: unknown key",
            "3:1 nodes: expected a whole number",
            "5:1 shm_size: is more than `memory`",
            "6:10 groups[0]: a group needs a level",
            "8:1 replicas: is a range, and nothing says when",
            "9:1 params: means nothing for a service",
            "10:14 checkpoint.interval: must be longer",
        ],
    ),
    (
        "run: x\nkind: service\nreplicas: 1..4\nscale:\n  panic_window: 5m\n  on_time: 99%\n"
        "  hints: [{cron: 0 8 * * *, lasts: 1h, replicas: 9}, {cron: x, lasts: 1h, replicas: 1}]\n"
        "  standby: 9\nhold: maybe",
        [
            "5:3 scale.panic_window: is longer than `window`",
            "6:3 scale.on_time: needs `start_within`",
            "7:40 scale.hints[0].replicas: is more than the 4",
            "7:55 scale.hints[1].cron: `x` is not a cron",
            "8:3 scale.standby: is more than the 4",
            "9:1 hold: expected true or false",
        ],
    ),
    (
        "run: x\npod_sets:\n- {name: a, shm_size: lots}\n- {name: a, memory: 1Gi, shm_size: 2Gi}\n"
        "- {name: b, nodes: 4, groups: [{size: 3, level: rack}, {size: 3, level: zone}]}\nnodes: 2",
        [
            "3:13 pod_sets[0].shm_size:",
            "4:4 pod_sets[1].name: `a` is the name of two",
            "4:26 pod_sets[1].shm_size: is more than",
            "5:33 pod_sets[2].groups[0].size: groups of 3 do not divide `nodes` of 4",
            "5:66 pod_sets[2].groups[1].level: is wider than the rack",
            "6:1 nodes: cannot stand beside",
        ],
    ),
    (  # every value that is wrong in one mapping
        "run: x\nenv: {A-B: 1, C: [1]}\nparams: {a b: 1, c: []}\nlabels: {a: [1]}",
        [
            "2:7 env.A-B:",
            "2:15 env.C: expected text",
            "3:10 params.a b:",
            "3:18 params.c: needs at least one",
            "4:10 labels.a: expected text",
        ],
    ),
]

BROKEN_INPUTS = [
    "nodes: two\ngroups: [{size: 3, level: rack}]",
    "noeds: 4\ngroups: [{size: 4, level: rack}]",
    "nodes: 4\nnum_nodes: 3\ngroups: [{size: 3, level: rack}]",
    "nodes: 4\ngroups: [{size: x, level: rack}, {size: 3, level: node}]",
    "memory: lots\nshm_size: 2Gi",
    "resources: 5\nshm_size: 2Gi",
    "kind: sweep\nparms: {a: 1}",
    "kind: srevice\nreplicas: 2",
    "kind: service\nreplicas: 1..4\nscael: {requests: 1}",
    "kind: service\nreplicas: 1..x\nscale: {requests: 1, standby: 9}",
    "kind: service\nreplicas: 1..4\nscale: {window: x, panic_window: 5m}",
    "kind: service\nreplicas: 1..4\nscale: {targets: {query: 1}, qurey: up}",
    "kind: service\nreplicas: 1..4\nscale: {on_time: 99%, start_witin: 1s}",
    "params: {a: []}\nsearch: 9",
    "idle_timeout: 1h\nidle: {horus: x}",
]
"""Each with one fault: a rule that reads what is broken says nothing about it."""


@pytest.mark.parametrize(("text", "expected"), WORKLOADS)
def test_contradictions_of_a_workload_come_with_its_other_errors(
    text: str, expected: list[str]
) -> None:
    lines = found(parse_workloads, text)
    assert matches(lines, expected), lines


@pytest.mark.parametrize("text", BROKEN_INPUTS)
def test_a_rule_whose_own_input_is_broken_adds_no_error(text: str) -> None:
    lines = found(parse_workloads, f"run: x\n{text}")
    assert len(lines) == 1, lines


def test_a_body_that_contradicts_itself_is_refused_with_all_its_errors() -> None:
    with pytest.raises(FieldError) as caught:
        from_document({"run": "x", "zebra": 1, "memory": "1Gi", "shm_size": "2Gi", "port": 0})
    assert [each.key for each in caught.value.errors] == ["zebra", "port", "shm_size"]


POLICIES = [
    (
        "heads_only: true\nordr: fair\nqueues:\n- {name: a, parent: b, quota: {X: 1}}\n"
        "- {name: b, parent: a, weight: -1}\n- {name: c, parent: nowhere}\n- {name: c}\n"
        "- {name: d, quota: {X: 1, Y: z}}\n- {name: e, parent: d, quota: {X: 2}}\n"
        "- {name: f, limit: {X: 1}, borrowing_limit: {X: 1}, qouta: {X: 3}}",
        [
            "1:1 heads_only: queues compared by share",
            "2:1 ordr: unknown key",
            "4:13 queues[0].parent: the queue tree runs in a circle",
            "5:24 queues[1].weight: cannot be negative",
            "6:13 queues[2].parent: there is no queue `nowhere`",
            "7:4 queues[3].name: the queue `c` exists already",
            "8:27 queues[4].quota.Y: `z` is not a number",
            "10:46 queues[6].borrowing_limit.X: says the same as `limit`",
            "10:53 queues[6].qouta: unknown key",
        ],
    ),
    (
        "evict: {restart: 5}\nqueues:\n- {name: d, quota: {X: 1}}\n"
        "- {name: e, parent: d, quota: {X: 2}}",
        ["1:9 evict.restart: `5` has no unit", "4:32 queues[1].quota.X: the quota of `e` is above"],
    ),
    (  # a queue whose name is wrong may be the parent that is missing
        "queues:\n- {name: Team A}\n- {name: b, parent: team-a}",
        ["2:4 queues[0].name: `Team A` is not a usable name"],
    ),
    (
        f"queues: [{{name: q}}]\nbookings:\n- {{name: x, nodes: n, begin: noon, users: [ada]}}\n"
        f"- {{name: x, nodes: n, begin: '{DAY}', length: 0, queues: [zz]}}\n"
        f"- {{name: y, begin: '{DAY}', length: 1h, end: '{DAY}'}}",
        [
            "3:3 bookings[0]: its end is missing",
            "3:23 bookings[0].begin: `noon` is not a date",
            "3:36 bookings[0].users: names users but no queues",
            "4:4 bookings[1].name: the booking `x` exists already",
            "4:51 bookings[1].length: ends when it begins",
            "4:71 bookings[1].queues[0]: there is no queue `zz`",
            "5:3 bookings[2]: names no nodes",
            "5:3 bookings[2]: its end is given twice",
        ],
    ),
    (
        "queues: [{name: q, quota: {X: -1, Y: {gpus: x, cpu: y}}}]\n"
        "priorities: {A B: 1, c: x}\nkinds: {service: {priority: x, spred: 1}}",
        [
            "1:28 queues[0].quota.X:",
            "1:39 queues[0].quota.Y.gpus:",
            "1:48 queues[0].quota.Y.cpu:",
            "2:14 priorities.A B:",
            "2:22 priorities.c:",
            "3:19 kinds.service.priority:",
            "3:32 kinds.service.spred: unknown key",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), POLICIES)
def test_contradictions_of_a_policy_come_with_its_other_errors(
    text: str, expected: list[str]
) -> None:
    lines = found(parse_policy, text)
    assert matches(lines, expected), lines


CLUSTERS = [
    (
        "levels: [rack]\npools:\n- {name: a, nodes: 2, gpus: H100:8, numa: 3, zone: z, memry: 3}\n"
        "- {name: b, nodes: 4, per_rack: 3, per_rck: 1, cpus: many}\n"
        "- {name: c, nodes: many, per_rack: 2, racks: [x]}\n"
        "nodes: [{name: a-0}, {name: b-1, gpus: 0.5}]\n"
        "queues:\n- {name: q, parent: r}\n- {name: q, quota: {T4: 1}}\n"
        "policy: {heads_only: true, trise: 3}",
        [
            "3:3 pools[0]: `a-0` names a zone, which `levels` lacks",
            "3:37 pools[0].numa: 8 GPUs do not divide",
            "3:55 pools[0].memry: unknown key",
            "4:36 pools[1].per_rck: unknown key",
            "4:48 pools[1].cpus:",
            "5:13 pools[2].nodes: expected a whole number",
            "5:26 pools[2].per_rack: the rack is given twice",
            "6:10 nodes[0].name: the node `a-0` exists already",
            "6:23 nodes[1].name: the node `b-1` exists already",
            "6:34 nodes[1].gpus: a node has whole GPUs",
            "8:13 queues[0].parent: there is no queue `r`",
            "9:4 queues[1].name: the queue `q` exists already",
            "10:10 policy.heads_only: queues compared by share",
            "10:28 policy.trise: unknown key",
        ],
    ),
    (
        "nodes:\n- {name: a, rack: r1, block: b1}\n- {name: b, rack: r1, block: b2, cpus: x}\n"
        "- {name: c, rack: r2, block: b1, zone: z1}\n- {name: d, rack: r2, block: b1, zone: z2}\n"
        "policy: ./absent.yaml",
        [
            "3:3 nodes[1]: rack r1 lies under two blocks",
            "3:34 nodes[1].cpus:",
            "5:3 nodes[3]: block b1 lies under two zones",
            "6:1 policy: there is no file",
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), CLUSTERS)
def test_contradictions_of_a_cluster_come_with_its_other_errors(
    text: str, expected: list[str]
) -> None:
    lines = found(parse_cluster, text)
    assert matches(lines, expected), lines


def test_contradictions_of_a_booking_that_is_sent_come_with_its_other_errors() -> None:
    with pytest.raises(FieldError) as caught:
        parse_booking({"name": "x", "begin": "noon", "users": ["ada"], "zebra": 1})
    assert [(each.key, each.problem) for each in caught.value.errors] == [
        ("zebra", "unknown key `zebra`"),
        ("begin", "`noon` is not a date and time"),
        ("", "names no nodes"),
        ("users", "names users but no queues"),
        ("", "its end is missing"),
    ]


BROKEN_DOCUMENTS = [
    (
        "run: x\nnodes: two\n---\nrun: [a\n---\nrun: y\nzebra: 1\n---\n- a\n---\n"
        "run: 'unclosed\nb: 2\n---\nrun: z\nmemory: 1\nmemory: 2\nname: A B\n---\n\ta: b\n"
        "---\nrun: z\ntime_limit: 0",
        [
            "2:1 nodes: expected a whole number",
            "5:1 : this is not YAML: did not find expected ',' or ']'",
            "7:1 zebra: unknown key",
            "9:1 : expected keys and values",
            "13:1 : this is not YAML: found unexpected document indicator",
            "16:1 memory: given twice, first on line 15",
            "17:1 name: `A B` is not a usable name",
            "19:1 : this is not YAML: found character that cannot start any token, in `a: b`",
            "22:1 time_limit: must be longer",
        ],
    ),
    (
        "run: x\nenv: {A: 1, A: 2, B-: 1}\nmemory: 1Gi\nmemory: 2Gi\nshm_size: 4Gi",
        [
            "2:13 env.A: given twice, first on line 2",
            "2:19 env.B-:",
            "4:1 memory: given twice, first on line 3",
        ],
    ),
    ("run: x\nsetup: a: b\n", ["2:9 : this is not YAML: mapping values are not allowed in this"]),
]


@pytest.mark.parametrize(("text", "expected"), BROKEN_DOCUMENTS)
def test_a_broken_document_hides_no_errors_of_the_others(text: str, expected: list[str]) -> None:
    lines = found(parse_workloads, text)
    assert matches(lines, expected), lines


@pytest.mark.parametrize("parse", [parse_policy, parse_cluster])
def test_a_file_of_one_document_reports_its_errors_beside_those_of_a_second(
    parse: Callable[[str, str], object],
) -> None:
    lines = found(parse, "zebra: 1\nqueues: [{name: a}, {name: a}]\n---\na: [\n---\nb: 1")
    expected = ["1:1 zebra: unknown key", "2:22 queues[1].name: the queue `a` exists"]
    what = parse.__name__.removeprefix("parse_")
    more = ["5:1 : this is not YAML", f"6:1 : a {what} file holds one document"]
    assert matches(lines, [*expected, *more]), lines
