"""Sets of pods that may use different nodes, divided."""

from msgspec.structs import replace

from ganglion.model.fleet.levels import Level
from ganglion.model.workload import Kind, Slice, Topology
from ganglion.worlds.kubernetes.feasibility_plugin.divide import Divisions
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang, FoundSet, Member
from tests.worlds.kubernetes.feasibility.make import pod


def found(zones: str, **more: object) -> FoundGang:
    pods = [pod(nodeSelector={"zone": zone}) for zone in zones]
    count = len(zones)
    one = FoundSet("main", count, count, pods[0], seats=count, upfront=count)
    members = tuple(Member(each, "main", index) for index, each in enumerate(pods))
    fields = {"sets": (replace(one, **more),), "members": members}
    return FoundGang("k", "k", "n", "ns", Kind.BATCH, "", 0, True, True, **fields)  # type: ignore[arg-type]


def rule(one: Pod) -> str:
    return one.spec.node_selector["zone"]


def divided(
    whole: FoundGang, divisions: Divisions | None = None, *, is_fixed: bool = False
) -> FoundGang:
    return (divisions or Divisions()).divided("g", whole, rule, is_fixed=is_fixed)


def shapes(one: FoundGang) -> list[tuple[str, int, str]]:
    return [(each.name, each.count, rule(each.request)) for each in one.sets]


def test_equal_pods_stay_one_set() -> None:
    whole = found("aaa")
    assert divided(whole) == whole


def test_pods_with_one_rule_are_a_part_and_keep_their_index() -> None:
    now = divided(found("abab"))
    assert shapes(now) == [("main", 2, "a"), ("main~1", 2, "b")]
    seats = [(each.pod_set, each.index) for each in now.members]
    assert seats == [("main", 0), ("main", 2), ("main~1", 1), ("main~1", 3)]
    assert all(each.least == each.upfront == each.count for each in now.sets)


def test_a_set_stays_whole_that_could_not_be_put_together_again() -> None:
    for whole in (
        found("ab", least=1),
        found("ab", upfront=1),
        found("ab", count=3, least=3, upfront=3),
        found("ab", slices=(Slice(1, Level.RACK),)),
    ):
        assert divided(whole) == whole


def test_what_holds_for_the_only_set_holds_for_the_gang() -> None:
    rack = Topology(required=Level.RACK)
    now = divided(found("ab", topology=rack))
    assert now.topology == rack
    assert all(each.topology == Topology() for each in now.sets)
    other = replace(found("ab", topology=rack), topology=Topology(required=Level.BLOCK))
    assert divided(other) == other


def test_parts_stay_what_they_are_while_the_gang_has_a_place() -> None:
    divisions = Divisions()
    divided(found("ab"), divisions)
    again = divided(found("aa"), divisions, is_fixed=True)
    assert [each.pod_set for each in again.members] == ["main", "main~1"]
    fewer = replace(found("ab"), members=found("ab").members[:1])
    assert [each.count for each in divided(fewer, divisions, is_fixed=True).sets] == [1, 1]
    assert divided(found("aa"), divisions) == found("aa")
    divisions.forget("g")
    assert divided(found("ab"), divisions, is_fixed=True) == found("ab")
