"""The pods on nodes."""

import msgspec
import pytest

from ganglion.worlds.kubernetes.feasibility.needs import Pattern
from ganglion.worlds.kubernetes.feasibility.reading import needs_of, resident
from ganglion.worlds.kubernetes.pod_index import tallies
from ganglion.worlds.kubernetes.pod_rules.barred import barred
from ganglion.worlds.kubernetes.selectors import Selector, selector_of
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    ZONE,
    apart,
    crowd,
    near,
    pod,
    port,
    term,
    zones,
)

WEB = {"app": "web"}
WEBS = Pattern(selector_of(LabelSelector(WEB)), ("ns",))


def web(name: str) -> Pod:
    return pod(name, labels=WEB)


def test_a_pod_is_where_it_was_last_seen() -> None:
    them = crowd((web("p"), "a"))
    them.put(web("p"), "b")
    assert them.tallies.where((WEBS,)) == {"b": 1}
    assert them.size == 1


def test_a_pod_that_is_over_holds_nothing() -> None:
    them = crowd((pod("p", containers=[port(80)]), "a"))
    done = msgspec.structs.replace(
        pod("p", containers=[port(80)]),
        status=msgspec.convert({"phase": "Failed"}, type(pod().status)),
    )
    them.put(done, "a")
    assert them.size == 0
    assert barred(needs_of(pod(containers=[port(80)])), them, zones(a="x")) == {}


def test_dropping_a_stranger_changes_nothing() -> None:
    them = crowd((web("p"), "a"))
    them.drop("q")
    assert them.size == 1


def test_counts_follow_pods_that_come_and_go() -> None:
    them = crowd((web("1"), "a"))
    assert them.tallies.where((WEBS,)) == {"a": 1}
    them.put(web("2"), "a")
    them.put(web("3"), "b")
    assert them.tallies.where((WEBS,)) == {"a": 2, "b": 1}
    them.drop("3")
    them.drop("1")
    assert them.tallies.where((WEBS,)) == {"a": 1}


def test_counts_survive_a_log_that_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "_LOG", 8)
    them = crowd()
    everybody = Pattern(Selector(), ("ns",))
    for number in range(50):
        them.put(web(f"p{number}"), "a")
        assert them.tallies.where((WEBS,)) == {"a": number + 1}
        if number % 20 == 0:
            assert them.tallies.where((everybody,)) == {"a": number + 1}
    assert them.tallies.where((everybody,)) == {"a": 50}


def test_counts_survive_too_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "_TALLIES", 3)
    them = crowd((web("p"), "a"))
    for value in ("web", "x", "y", "z", "web"):
        pattern = Pattern(selector_of(LabelSelector({"app": value})), ("ns",))
        assert them.tallies.where((pattern,)) == ({"a": 1} if value == "web" else {})


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (Requirement("app", "In", ("web", "db")), {"a": 1, "b": 1}),
        (Requirement("app", "In", ("nobody",)), {}),
        (Requirement("app", "Exists"), {"a": 1, "b": 1}),
        (Requirement("app", "NotIn", ("web",)), {"b": 1, "c": 1}),
        (Requirement("app", "DoesNotExist"), {"c": 1}),
    ],
)
def test_all_selectors_are_counted(requirement: Requirement, expected: dict[str, int]) -> None:
    them = crowd((web("1"), "a"), (pod("2", labels={"app": "db"}), "b"), (pod("3"), "c"))
    pattern = Pattern(Selector((requirement,)), ("ns",))
    assert them.tallies.where((pattern,)) == expected


def test_patterns_that_are_asked_together_mean_pods_that_all_of_them_mean() -> None:
    them = crowd((web("1"), "a"), (pod("2", labels=WEB | {"tier": "x"}), "b"))
    tier = Pattern(selector_of(LabelSelector({"tier": "x"})), ("ns",))
    assert them.tallies.where((WEBS, tier)) == {"b": 1}


def test_namespaces_that_change_their_labels_change_who_is_meant() -> None:
    them, there = crowd((web("p"), "a")), zones(a="x", b="x")
    elsewhere = term(HOST, labels=WEB, namespaceSelector={"matchLabels": {"team": "x"}})
    asked = needs_of(pod(namespace="mine", affinity=near(elsewhere)))
    assert set(barred(asked, them, there)) == {"a", "b"}
    them.put_namespace("ns", {"team": "x"})
    assert set(barred(asked, them, there)) == {"b"}
    them.drop_namespace("ns")
    assert set(barred(asked, them, there)) == {"a", "b"}


def test_guards_of_another_namespace_follow_its_labels() -> None:
    keeps = term(HOST, labels=WEB, namespaceSelector={"matchLabels": {"team": "x"}})
    them, there = crowd((pod("g", namespace="mine", affinity=apart(keeps)), "a")), zones(a="x")
    assert barred(needs_of(web("p")), them, there) == {}
    them.put_namespace("ns", {"team": "x"})
    assert set(barred(needs_of(web("p")), them, there)) == {"a"}


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": WEB},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        {},
    ],
)
def test_guards_of_every_form_keep_away_until_they_are_gone(selector: object) -> None:
    keeps = apart(term(HOST, labelSelector=selector))
    them, there = (
        crowd((pod("g", affinity=keeps), "a"), (pod("h", affinity=keeps), "b")),
        zones(a="x"),
    )
    assert set(barred(needs_of(web("p")), them, there)) == {"a"}
    them.drop("g")
    assert barred(needs_of(web("p")), them, there) == {}
    them.drop("h")
    assert list(them.guards.against(resident(web("p"), "a"))) == []


def test_a_domain_stays_guarded_as_long_as_one_guard_is_left() -> None:
    keeps = apart(term(HOST, labels=WEB))
    them = crowd((pod("g", affinity=keeps), "a"), (pod("h", affinity=keeps), "a"))
    there = zones(a="x")
    them.drop("g")
    assert set(barred(needs_of(web("p")), them, there)) == {"a"}


def test_guards_that_look_for_one_label_are_told_apart() -> None:
    near_by, far_off = (apart(term(key, labels=WEB)) for key in (HOST, ZONE))
    them = crowd((pod("g", affinity=near_by), "a"), (pod("h", affinity=far_off), "b"))
    there = zones(a="x", b="y", c="y")
    assert set(barred(needs_of(web("p")), them, there)) == {"a", "b", "c"}
    them.drop("g")
    assert set(barred(needs_of(web("p")), them, there)) == {"b", "c"}
    them.drop("h")
    assert barred(needs_of(web("p")), them, there) == {}


def test_namespaces_may_be_told_twice_and_forgotten_twice() -> None:
    them = crowd((web("p"), "a"))
    pattern = Pattern(WEBS.selector, (), selector_of(LabelSelector({"team": "x"})))
    for _ in range(2):
        them.put_namespace("ns", {"team": "x"})
        assert them.tallies.where((pattern,)) == {"a": 1}
    for _ in range(2):
        them.drop_namespace("ns")
        assert them.tallies.where((pattern,)) == {}


def test_a_pattern_that_means_nobody_finds_nobody() -> None:
    them = crowd((web("p"), "a"))
    assert them.tallies.where((WEBS, Pattern(Selector(nothing=True), ("ns",)))) == {}


def test_labels_matter_only_while_somebody_keeps_others_away() -> None:
    them = crowd((web("p"), "a"))
    assert not them.guards.is_needed()
    them.put(pod("g", affinity=apart(term(HOST, labels=WEB))), "a")
    assert them.guards.is_needed()
    them.drop("g")
    assert not them.guards.is_needed()


def test_a_guard_that_means_nobody_keeps_nobody_away() -> None:
    them = crowd((pod("g", affinity=apart(term(HOST))), "a"))
    assert barred(needs_of(web("p")), them, zones(a="x")) == {}
    them.drop("g")
    assert them.size == 0


def test_what_is_supposed_is_forgotten_even_after_an_error() -> None:
    them = crowd((web("old"), "a"))
    with pytest.raises(KeyError), them.supposing(["old", "nobody"]) as suppose:
        suppose(resident(web("new"), "b"))
        assert them.tallies.where((WEBS,)) == {"b": 1}
        raise KeyError
    assert them.tallies.where((WEBS,)) == {"a": 1}
