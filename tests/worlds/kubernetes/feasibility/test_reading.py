"""Needs in one form."""

from typing import Any

from ganglion.worlds.kubernetes.feasibility.needs import (
    AffinityTerm,
    Among,
    HostPort,
    Needs,
    Pattern,
    meant,
)
from ganglion.worlds.kubernetes.feasibility.reading import needs_of, resident
from ganglion.worlds.kubernetes.selectors import Selector, selector_of
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement
from tests.worlds.kubernetes.feasibility.make import (
    HOST,
    apart,
    near,
    pod,
    port,
    spread,
    term,
    wants,
)

SPACES = {"ns": {"team": "a"}, "other": {"team": "b"}}


def means(made: Any, holder: Any, other: Any) -> bool:
    (found,) = needs_of(pod("h", **holder, affinity=near(made))).near
    return meant([found.pattern], resident(pod("o", **other), "n"), SPACES)


def test_a_plain_pod_needs_nothing() -> None:
    assert needs_of(pod(labels={"b": "2", "a": "1"})) == Needs("ns", (("a", "1"), ("b", "2")))


def test_terms_mean_pods_of_their_own_namespace_unless_they_say_more() -> None:
    app: dict[str, Any] = {"labels": {"app": "x"}}
    here, there = app, app | {"namespace": "other"}
    own = term(**app)
    assert means(own, {}, here)
    assert not means(own, {}, there)
    named = term(**app, namespaces=["other"])
    assert not means(named, {}, here)
    assert means(named, {}, there)
    chosen = term(**app, namespaceSelector={"matchLabels": {"team": "b"}})
    assert not means(chosen, {}, here)
    assert means(chosen, {}, there)
    either = term(**app, namespaces=["ns"], namespaceSelector={"matchLabels": {"team": "b"}})
    assert means(either, {}, here)
    assert means(either, {}, there)
    everywhere = term(**app, namespaceSelector={})
    assert means(everywhere, {}, app | {"namespace": "unheard-of"})


def test_match_label_keys_mean_pods_with_the_same_value_and_mismatch_keys_with_another() -> None:
    same = term(labels={}, matchLabelKeys=["rev"])
    other = term(labels={}, mismatchLabelKeys=["rev"])
    one, two = {"labels": {"rev": "1"}}, {"labels": {"rev": "2"}}
    assert [means(same, one, each) for each in (one, two, {})] == [True, False, False]
    assert [means(other, one, each) for each in (one, two, {})] == [False, True, True]
    assert means(same, {}, two)


def test_keys_that_the_api_server_has_written_out_stay_as_they_were_written() -> None:
    written = {"matchExpressions": [wants("rev", "In", "1")]}
    made = term(labelSelector=written, matchLabelKeys=["rev"])
    relabelled = {"labels": {"rev": "2"}}
    assert means(made, relabelled, {"labels": {"rev": "1"}})


def test_terms_without_a_selector_mean_nobody() -> None:
    assert not means(term(), {}, {"labels": {"app": "x"}})


def test_pods_on_the_way_out_are_no_longer_meant_by_patterns_for_those_that_stay() -> None:
    pattern = Pattern(Selector(), ("ns",), None, True)
    staying, leaving = resident(pod(), "n"), resident(pod(), "n")
    assert meant([pattern], staying, SPACES)
    leaving = type(leaving)("u", "n", leaving.needs, {}, True)
    assert not meant([pattern], leaving, SPACES)


def test_a_term_that_is_written_twice_counts_once() -> None:
    assert len(needs_of(pod(affinity=apart(term(labels={}), term(labels={})))).apart) == 1


def test_anti_affinity_is_not_affinity() -> None:
    needs = needs_of(pod(affinity=apart(term(labels={"app": "x"}))))
    selector = Selector((Requirement("app", "In", ("x",)),))
    assert needs.near == ()
    assert needs.apart == (AffinityTerm(HOST, Pattern(selector, ("ns",))),)


def test_only_hard_constraints_on_spreading_count() -> None:
    soft = spread() | {"whenUnsatisfiable": "ScheduleAnyway"}
    hard = spread("rack", {"app": "x"}, 2, minDomains=3)
    (found,) = needs_of(pod(topologySpreadConstraints=[soft, hard])).spreads
    assert (found.max_skew, found.min_domains) == (2, 3)
    assert found.among == Among("rack", ("rack",))
    assert found.pattern.staying


def test_spreading_regards_selectors_of_nodes_but_not_taints_unless_told_otherwise() -> None:
    spec: dict[str, Any] = {"nodeSelector": {"a": "1"}, "tolerations": [{"operator": "Exists"}]}
    usual = spread(labels={"app": "x"})
    other = usual | {"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    one, two = (
        needs_of(pod(topologySpreadConstraints=[each], **spec)).spreads[0].among
        for each in (usual, other)
    )
    assert one.clauses
    assert one.tolerations is None
    assert not two.clauses
    assert two.tolerations


def test_match_label_keys_narrow_what_is_spread() -> None:
    made = spread(labels={"app": "x"}, matchLabelKeys=["rev", "absent"])
    (found,) = needs_of(pod(labels={"rev": "7"}, topologySpreadConstraints=[made])).spreads
    assert found.pattern.selector == selector_of(LabelSelector({"app": "x", "rev": "7"}))


def test_spreading_of_everything_counts_nobody() -> None:
    (found,) = needs_of(pod(topologySpreadConstraints=[spread(labels={})])).spreads
    assert found.pattern.selector.nothing


def test_ports_of_the_node_are_taken_by_whatever_runs_as_long_as_the_pod() -> None:
    sidecar = port(90) | {"restartPolicy": "Always"}
    made = pod(containers=[port(80, "10.0.0.1", "UDP")], initContainers=[port(70), sidecar])
    assert needs_of(made).ports == (HostPort("0.0.0.0", "TCP", 90), HostPort("10.0.0.1", "UDP", 80))


def test_on_the_network_of_the_node_every_port_is_one_of_the_node() -> None:
    box = {"name": "main", "ports": [{"containerPort": 8080}]}
    assert needs_of(pod(containers=[box])).ports == ()
    assert needs_of(pod(containers=[box], hostNetwork=True)).ports == (
        HostPort("0.0.0.0", "TCP", 8080),
    )


def test_what_the_engine_counts_is_not_counted_here_again() -> None:
    asked = {"cpu": "1", "nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "1", "rdma/hca": "2"}
    box = {"name": "main", "resources": {"requests": asked | {"ephemeral-storage": "7"}}}
    assert needs_of(pod(containers=[box])).extras == (("ephemeral-storage", 7),)


def test_claims_are_known_by_namespace_and_name() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": each}} for each in "ba"]
    assert needs_of(pod(volumes=volumes)).claims == ("ns/a", "ns/b")
