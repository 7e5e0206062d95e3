"""Policy files."""

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from ganglion.model.errors import FieldError, FileError
from ganglion.model.kinds import KindRules, rules_of_kind
from ganglion.model.policy import (
    Escalation,
    EvictionRules,
    Future,
    Order,
    Policy,
    PriorityClass,
    Repack,
    UsageDecay,
    VictimOrder,
)
from ganglion.model.queue import Flavors, Preemption, Queue, Victims
from ganglion.model.resources import Amount
from ganglion.model.workload import Kind, Workload
from ganglion.specs.grammar.words import ISOLATIONS
from ganglion.specs.policy.policy import load_policy, parse_policy
from ganglion.specs.policy.presets import PRESETS, preset
from ganglion.specs.policy.printing import Change, changes, policy_document, yaml_text
from ganglion.specs.policy.schema import SCOPES
from ganglion.specs.reading.overlay import attribute
from ganglion.specs.workload.workload import parse_workloads, to_workload

FULL = """
preset: kai
order: smallest
strict: StrictFIFO
entitlement: dominant
elastic: no
tries: 3
scores: {ganglion: 2, fgd: 1}
permits: [budget]
priorities: {batch: 10, prod: {value: 90, preemptible: false}}
preemption: {preempt: never, protected: 10m, delay: 30s, threshold: 20}
evict: {enabled: true, victims: price-first, restart: 2m, dead_zone: 5%, checkpoint_wait: 1m,
  move: false, tries: 4}
future: {backfill: conservative, reservations: 5, learn: true, ageing: 1h, assumed: 2d,
  patience: 50%, starving: 200%}
repack: {consolidate: false, horizon: 30m, moves: 3, empty_nodes: true}
usage: {half_life: 7d, levels: user}
queues:
- {name: team, parent: org, quota: {H100: 8}, user_limit: {H100: 2}, timeshare: 2h, strict: true,
   preemption: {reclaim: lower}, flavors: {order: [H100, A100], borrow_first: false}}
- {name: org, quota: {H100: 16}, lend_limit: {H100: 4}, weight: 0, priority: 7, max_pending: 9}
"""


def test_every_key_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FULL)
    found = load_policy(path)
    rules = Preemption(Victims.NEVER, Victims.ANY, Victims.ANY, 20, 600_000, 30_000)
    assert (found.preset, found.name, found.text) == ("kai", str(path), FULL)
    assert found.policy.order is Order.SMALLEST
    assert (found.policy.strict, found.policy.elastic, found.policy.tries) == (True, False, 3)
    assert found.policy.permits == ("budget",)
    assert found.policy.priorities["prod"] == PriorityClass(90, preemptible=False)
    assert found.policy.preemption == rules
    assert found.policy.evict == EvictionRules(
        True, VictimOrder.PRICE_FIRST, 120_000, 50, 60_000, False, 4
    )
    assert found.policy.future == Future("conservative", 5, True, 3_600_000, 172_800_000, 500, 2000)  # type: ignore[arg-type]
    assert found.policy.repack == Repack(False, 1_800_000, 3, True)
    assert found.policy.usage == UsageDecay(604_800_000, ("user",))
    assert found.queues is not None
    org, team = found.queues
    assert org == Queue(
        "org",
        quota={"H100": Amount(16_000)},
        lend_limit={"H100": Amount(4_000)},
        over_quota_weight=0,
        priority=7,
        max_pending=9,
    )
    assert team == Queue(
        "team",
        "org",
        quota={"H100": Amount(8_000)},
        user_limit={"H100": Amount(2_000)},
        strict=True,
        preemption=replace(rules, reclaim=Victims.LOWER),
        flavors=Flavors(("H100", "A100"), borrow_first=False),
        timeshare_ms=7_200_000,
    )


def test_what_a_file_leaves_out_is_as_its_preset_says() -> None:
    found = parse_policy("preset: slurm-like\nevict: {restart: 5m}").policy
    base = preset("slurm-like")
    assert found == replace(base, evict=replace(base.evict, restart_ms=300_000))
    assert parse_policy("strict: true").policy == Policy(strict=True)
    assert parse_policy("strict: true").queues is None
    assert parse_policy("queues: []").queues == ()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("{withinClusterQueue: LowerOrNewerEqualPriority}", "{preempt: lower_or_newer}"),
        ("{withinClusterQueue: Never, reclaimWithinCohort: LowerPriority}",
         "{preempt: never, reclaim: lower}"),
        ("{borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}}",
         "{borrowing: lower, threshold: 100}"),
        ("{borrowWithinCohort: {policy: Never}}", "{borrowing: never}"),
        ("{reclaimMinRuntime: 10m}", "{protected: 10m}"),
        ("{preemptMinRuntime: 10m}", "{protected: 10m}"),
    ],
)  # fmt: skip
def test_rules_may_have_the_names_of_other_schedulers(theirs: str, ours: str) -> None:
    found = parse_policy(f"preemption: {theirs}").policy
    assert found == parse_policy(f"preemption: {ours}").policy != Policy()
    queue = "queues:\n- {name: a, preemption: %s}"
    assert parse_policy(queue % theirs).queues == parse_policy(queue % ours).queues


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("nominalQuota: {H100: 8}, borrowingLimit: {H100: 4}",
         "quota: {H100: 8}, limit: {H100: 12}"),
        ("deserved: {H100: 8}, lendingLimit: {H100: 2}", "quota: {H100: 8}, lend_limit: {H100: 2}"),
        ("borrowingLimit: {H100: 4}", "limit: {H100: 4}"),
        ("overQuotaWeight: 3", "weight: 3"),
        ("queueingStrategy: BestEffortFIFO", "strict: false"),
        ("reclaimMinRuntime: 5m", "preemption: {protected: 5m}"),
        ("flavorFungibility: {whenCanBorrow: TryNextFlavor, whenCanPreempt: Preempt}",
         "flavors: {borrow_first: false, preempt_first: true}"),
        ("flavorFungibility: {whenCanBorrow: MayStopSearch, preference: PreemptionOverBorrowing}",
         "flavors: {borrow_first: true, prefer_preempting: true}"),
    ],
)  # fmt: skip
def test_queues_may_have_the_names_of_other_schedulers(theirs: str, ours: str) -> None:
    queue = "queues:\n- {name: a, %s}"
    assert parse_policy(queue % theirs).queues == parse_policy(queue % ours).queues


@pytest.mark.parametrize(
    ("text", "line", "key", "says", "hint"),
    [
        ("queues:\n- {name: a, parent: b}\n- {name: b, parent: a}", 2, "queues[0].parent",
         "runs in a circle: a > b > a", "make one a root"),
        ("queues:\n- {name: a, parent: a}", 2, "queues[0].parent", "circle: a > a", ""),
        ("queues:\n- name: a\n  quota: {H100: -4}", 3, "queues[0].quota.H100",
         "cannot be negative, found `-4`", "write a number of GPUs"),
        ("queues:\n- {name: a, quota: {H100: 4}}\n- name: b\n  parent: a\n  quota:\n    H100: 8",
         6, "queues[1].quota.H100",
         "the quota of `b` is above that of its parent `a`: 8 GPUs of 4", "raise the quota of `a`"),
        ("queues:\n- {name: a, quota: {'*': 4}}\n- {name: b, parent: a, quota: {X: 3, Y: 3}}",
         3, "queues[1].quota", "6 GPUs of 4", "lower this one"),
        ("queues:\n- {name: a}\n- {name: a}", 3, "queues[1].name", "`a` exists already", ""),
        ("queues:\n- {name: b, parent: ogr}\n- {name: org}", 2, "queues[0].parent",
         "no queue `ogr`", "did you mean `org`?"),
        ("queues:\n- {name: a, weight: -1}", 2, "queues[0].weight", "negative", ""),
        ("queues:\n- {name: a, weight: 1.5}", 2, "queues[0].weight", "whole number", ""),
        ("queues:\n- {name: a, limit: {H100: 4}, borrowing_limit: {H100: 4}}", 2,
         "queues[0].borrowing_limit.H100", "says the same as `limit`", "keep one"),
        ("preset: kia", 1, "preset", "no preset `kia`", "did you mean `kai`?"),
        ("evict:\n  victim: price", 2, "evict.victim", "unknown key", "did you mean `victims`?"),
        ("evict:\n  victims: price_fist", 2, "evict.victims", "not known", "`price-first`?"),
        ("evict:\n  restart: 5", 2, "evict.restart", "`5` has no unit", "90s"),
        ("evict:\n  dead_zone: 0.1", 2, "evict.dead_zone", "not a percentage", "5%"),
        ("future: {backfil: easy}", 1, "future.backfil", "unknown key", "`backfill`?"),
        ("restart: 1m", 1, "restart", "unknown key", "belongs under `evict`"),
        ("usage: {levels: [team]}", 1, "usage.levels", "not known", "queue or user"),
        ("preemption: {reclaim: sometimes}", 1, "preemption.reclaim", "not known", "never"),
        ("preemption: {borrowWithinCohort: {polcy: Never}}", 1, "preemption.borrowWithinCohort",
         "expected text", ""),
        ("preemption: {preemptMinRuntime: 1m, reclaimMinRuntime: 2m}", 1,
         "preemption.reclaimMinRuntime", "says the same as", "keep one"),
        ("priorities: {a: {value: x}}", 1, "priorities.a", "whole number", ""),
        ("bookings:\n- {name: a, nodes: n, for: 1h, from: noon}", 2, "bookings[0].from",
         "not a date", "2026-12"),
        ("order: fair\n---\norder: fifo", 3, "", "one document", ""),
    ],
)  # fmt: skip
def test_an_error_names_file_line_key_value_and_what_to_do(
    text: str, line: int, key: str, says: str, hint: str
) -> None:
    with pytest.raises(FieldError, match=f"^p.yaml:{line}:") as caught:
        parse_policy(text, "p.yaml")
    assert (caught.value.line, caught.value.key) == (line, key) or caught.value.key.startswith(key)
    assert says in str(caught.value)
    assert hint in caught.value.hint


def test_all_problems_of_a_policy_are_told_at_once_from_the_top() -> None:
    text = (
        "preset: kia\nordr: fair\nevict:\n  restart: 5\n  victim: price\n"
        "queues:\n- {name: a, wieght: 2, weight: -1}\n- {parent: a, quta: {H100: 1}}\n"
        "- {nmae: b, quota: {H100: -4}}"
    )
    with pytest.raises(FieldError, match="preset") as caught:
        parse_policy(text, "p.yaml")
    found = [(each.file, each.line, each.column, each.key) for each in caught.value.errors]
    assert found == [
        ("p.yaml", 1, 1, "preset"),
        ("p.yaml", 2, 1, "ordr"),
        ("p.yaml", 4, 3, "evict.restart"),
        ("p.yaml", 5, 3, "evict.victim"),
        ("p.yaml", 7, 13, "queues[0].wieght"),
        ("p.yaml", 7, 24, "queues[0].weight"),
        ("p.yaml", 8, 3, "queues[1]"),
        ("p.yaml", 8, 15, "queues[1].quta"),
        ("p.yaml", 9, 4, "queues[2].nmae"),
        ("p.yaml", 9, 21, "queues[2].quota.H100"),
    ]


def test_all_contradictions_between_queues_are_told_at_once() -> None:
    text = (
        "entitlement: share\nheads_only: true\nqueues:\n"
        "- {name: a, parent: b}\n- {name: b, parent: a}\n"
        "- {name: c, parent: nowhere}\n- {name: c}\n- {name: d, quota: {X: 1}}\n"
        "- {name: e, parent: d, quota: {X: 2}}\n- {name: f, limit: {X: 1}, borrowing_limit: {X: 1}}"
    )
    with pytest.raises(FieldError) as caught:
        parse_policy(text, "p.yaml")
    assert [(each.line, each.key) for each in caught.value.errors] == [
        (2, "heads_only"),
        (4, "queues[0].parent"),
        (6, "queues[2].parent"),
        (7, "queues[3].name"),
        (9, "queues[5].quota.X"),
        (10, "queues[6].borrowing_limit.X"),
    ]


def test_flavors_that_no_node_has_are_gathered() -> None:
    text = "queues:\n- {name: a, quota: {h100: 4, H200: 1},\n   flavors: {order: [A10, h100]}}"
    found = parse_policy(text, "p.yaml", flavors=["H100", "A100"])
    assert [(each.line, each.key) for each in found.unknown] == [
        (2, "queues[0].quota.H200"),
        (3, "queues[0].flavors.order[0]"),
    ]
    assert "did you mean `H100`?" in found.unknown[0].hint
    assert found.queues is not None
    assert set(found.queues[0].quota) == {"H100", "H200"}
    assert not parse_policy(text).unknown


def test_weight_0_is_allowed() -> None:
    (queue,) = parse_policy("queues: [{name: a, weight: 0}]").queues or ()
    assert queue.over_quota_weight == 0


def test_what_is_no_file_of_text_is_refused() -> None:
    for text in ("", "# only words", "[1, 2]"):
        with pytest.raises((FileError, FieldError)):
            parse_policy(text, "p.yaml")


KINDS: dict[str, type[Struct]] = {
    "preemption": Preemption,
    "flavors": Flavors,
    "evict": EvictionRules,
    "future": Future,
    "repack": Repack,
    "usage": UsageDecay,
}
RULES_OF_KINDS = st.dictionaries(
    st.sampled_from([each.value for each in Kind]),
    st.fixed_dictionaries(
        {},
        optional={
            "priority": st.integers(0, 100),
            "preemptible": st.booleans(),
            "isolation": st.sampled_from(ISOLATIONS),
            "spread": st.booleans(),
            "protected": st.integers(0, 10**9).map(lambda n: f"{n}ms"),
            "scores": st.dictionaries(
                st.sampled_from(["memory", "fgd"]), st.integers(1, 9), min_size=1
            ),
        },
    ),
)
KNOBS = st.fixed_dictionaries(
    {"preset": st.sampled_from(list(PRESETS))},
    optional={
        "order": st.sampled_from([each.value for each in Order]),
        "strict": st.booleans(),
        "tries": st.integers(1, 1024),
        "scores": st.dictionaries(
            st.sampled_from(["ganglion", "fgd"]), st.integers(1, 9), min_size=1
        ),
        "priorities": st.dictionaries(st.sampled_from(["a", "b"]), st.integers(-9, 9)),
        "kinds": RULES_OF_KINDS,
        "escalate": st.lists(
            st.fixed_dictionaries(
                {"after": st.integers(0, 10**9).map(lambda n: f"{n}ms"), "to": st.integers(0, 100)}
            )
        ),
        "evict": st.fixed_dictionaries(
            {}, optional={"restart": st.integers(0, 10**9).map(lambda n: f"{n}ms"),
                          "dead_zone": st.integers(0, 100).map(lambda n: f"{n}%")}
        ),
        "preemption": st.fixed_dictionaries(
            {}, optional={"reclaim": st.sampled_from([each.value for each in Victims]),
                          "threshold": st.integers(-9, 9)}
        ),
    },
)  # fmt: skip
QUEUES = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b", "c"])},
        optional={
            "quota": st.dictionaries(st.sampled_from(["*", "H100", "cpu"]), st.integers(0, 99)),
            "limit": st.dictionaries(
                st.sampled_from(["*", "H100"]),
                st.fixed_dictionaries({"gpus": st.integers(0, 99), "memory": st.just("3GB")}),
            ),
            "weight": st.integers(0, 9),
            "strict": st.booleans(),
            "preemption": st.just({"delay": "3s"}),
            "flavors": st.just({"order": ["H100"]}),
            "timeshare": st.just("1h30m"),
            "kinds": RULES_OF_KINDS,
        },
    ),
    unique_by=lambda each: each["name"],
)


@given(KNOBS, st.none() | QUEUES)
def test_a_policy_that_is_printed_is_read_again(knobs: dict[str, object], queues: object) -> None:
    given = knobs if queues is None else {**knobs, "queues": queues}
    found = parse_policy(yaml_text(given))
    printed = policy_document(found.policy, found.queues or ())
    again = parse_policy(yaml_text(printed))
    assert again.policy == found.policy
    assert (again.queues or ()) == (found.queues or ())
    assert changes(printed, policy_document(again.policy, again.queues or ())) == []


def test_what_differs_is_told_by_key() -> None:
    old = parse_policy("queues: [{name: a, quota: {H100: 4}}, {name: b}]\npriorities: {x: 1}")
    new = parse_policy("evict: {restart: 2m}\nqueues: [{name: a, quota: {H100: 8}}]")
    assert changes(
        policy_document(old.policy, old.queues or ()), policy_document(new.policy, new.queues or ())
    ) == [
        Change("priorities.x", "1", None),
        Change("evict.restart", "1m", "2m"),
        Change("queues.a.quota.H100", "4", "8"),
        Change("queues.b", "", None),
    ]


def test_every_knob_and_every_rule_of_a_queue_has_a_key() -> None:
    kinds: dict[str, type[Struct]] = {"": Policy, "queues": Queue, **KINDS}
    for scope, kind in kinds.items():
        named = {attribute(kind, key) for key in SCOPES[scope].model_fields}
        named |= {"over_quota_weight"} if kind is Queue else set()
        assert set(kind.__struct_fields__) - named == set(), scope


def test_the_defaults_of_the_schema_are_those_of_the_engine() -> None:
    usual: dict[str, Struct] = {"": Policy(), **{scope: kind() for scope, kind in KINDS.items()}}
    usual["preemption"] = Policy().preemption
    for scope, each in usual.items():
        for key, field in SCOPES[scope].model_fields.items():
            name = attribute(type(each), key)
            value = getattr(each, name) if name else None
            if name and not isinstance(value, Struct):
                assert field.get_default(call_default_factory=True) == value, (scope, key)


def test_priority_classes_give_a_number_and_say_whether_a_workload_may_be_stopped() -> None:
    classes = parse_policy("priorities: {prod: {value: 990, preemptible: false}, low: 3}").policy

    def made(text: str) -> Workload:
        (doc,) = parse_workloads(f"run: x\n{text}")
        return to_workload(doc, user="a", default_queue="q", classes=classes.priorities)

    prod = made("priority: prod")
    assert (prod.priority, prod.priority_class, prod.preemptible) == (990, "prod", False)
    assert made("priority: prod\npreemptible: true").preemptible
    assert (made("priority: low").priority, made("priority: high").priority) == (3, 75)
    with pytest.raises(FieldError, match="no priority class `prdo`") as caught:
        made("priority: prdo")
    assert (caught.value.key, caught.value.hint) == ("priority", "did you mean `prod`?")


def test_rules_of_a_kind_fill_in_what_a_workload_leaves_out() -> None:
    policy = parse_policy(
        "kinds:\n"
        "  inference: {priority: high, preemptible: false, isolation: kind, spread: no}\n"
        "  workspace: {priority: 10}\n"
        "priorities: {soft: {value: 40, preemptible: true}}\n"
    ).policy

    def made(text: str) -> Workload:
        (doc,) = parse_workloads(f"run: x\n{text}")
        rules = partial(rules_of_queue, policy)
        return to_workload(doc, user="a", default_queue="q", classes=policy.priorities, rules=rules)

    def rules_of_queue(policy: Policy, queue: str, kind: Kind) -> KindRules:
        own = {Kind.SERVICE: KindRules(priority=90)} if queue == "urgent" else {}
        return rules_of_kind(kind, own, policy.kinds)

    service = made("replicas: 2\nport: 80")
    assert (service.priority, service.preemptible, service.spread) == (75, False, False)
    assert service.constraints.isolation == "kind"
    said = made("replicas: 2\nport: 80\npriority: 3\npreemptible: true\nisolation: none")
    assert (said.priority, said.preemptible, said.constraints.isolation) == (3, True, "none")
    assert made("replicas: 2\nport: 80\npriority: soft").preemptible
    assert made("replicas: 2\nport: 80\nqueue: urgent").priority == 90
    assert not made("replicas: 2\nport: 80\nqueue: urgent").preemptible
    assert (made("").priority, made("").preemptible, made("").spread) == (50, True, None)


def test_steps_of_an_escalation_stand_beside_the_priorities_or_at_the_top() -> None:
    steps = (Escalation(3_600_000, 60), Escalation(43_200_000, 75))
    inside = "priorities: {prod: 90, escalate: [{after: 12h, to: high}, {after: 1h, to: 60}]}\n"
    found = parse_policy(inside).policy
    assert (found.escalate, found.priorities) == (steps, {"prod": PriorityClass(90)})
    assert parse_policy("escalate: {after: 1h, to: 60}\n").policy.escalate == steps[:1]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{after: 1h}", "escalate"),
        ("{after: soon, to: 60}", "escalate.after"),
        ("[{after: 1h, to: 101}]", "escalate.to"),
    ],
)
def test_an_error_in_an_escalation_names_its_key(text: str, key: str) -> None:
    with pytest.raises(FieldError) as error:
        parse_policy(f"escalate: {text}\n")
    assert error.value.key == key


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("{service: {preemptable: no}}", "kinds.service.preemptable", "preemptible"),
        ("{servise: {}}", "kinds.servise", "service"),
        ("{service: {priority: 101}}", "kinds.service.priority", ""),
        ("{service: {priority: hihg}}", "kinds.service.priority", "high"),
        ("{service: 3}", "kinds.service", "preemptible"),
        ("{service: {isolation: all}}", "kinds.service.isolation", "none"),
        ("{service: {}, inference: {}}", "kinds", ""),
    ],
)
def test_an_error_in_the_rules_of_a_kind_names_its_key(text: str, key: str, hint: str) -> None:
    with pytest.raises(FieldError) as error:
        parse_policy(f"kinds: {text}\n")
    assert error.value.key == key
    assert hint in error.value.hint


def test_one_gang_per_queue_goes_with_the_entitlements_that_know_it() -> None:
    assert parse_policy("heads_only: true\nentitlement: dominant\n").policy.heads_only
    with pytest.raises(FieldError) as error:
        parse_policy("preset: kueue\nentitlement: share\n")
    assert error.value.key == "heads_only"
    assert "dominant" in error.value.hint
