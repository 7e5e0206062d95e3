from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.lifecycle.failures.spares import Host, SpareChange, plan


def fleet(count: int = 4, **of: set[int]) -> list[Host]:
    """Nodes n0, n1, ..., two to a rack; `empty`, `spare` and `missing` name some of them."""
    return [
        Host(
            f"n{i}",
            "H100",
            (f"r{i // 2}",),
            **{key: i in chosen for key, chosen in of.items()},
        )
        for i in range(count)
    ]


def test_empty_nodes_are_kept_free_each_in_another_rack() -> None:
    assert plan(fleet(empty={0, 1, 2, 3}), 2) == SpareChange(keep=("n0", "n2"))


def test_nobody_is_driven_out_for_a_spare() -> None:
    assert plan(fleet(empty={3}), 2) == SpareChange(keep=("n3",))


def test_for_a_node_that_is_missing_the_nearest_spare_is_given_free() -> None:
    hosts = fleet(spare={0, 2}, empty={0, 2}, missing={3})
    assert plan(hosts, 2) == SpareChange(free=("n2",))


def test_once_the_fleet_is_whole_an_empty_node_takes_its_place() -> None:
    assert plan(fleet(spare={0}, empty={0, 3}), 2) == SpareChange(keep=("n3",))


def test_other_kinds_stand_in_for_nobody() -> None:
    hosts = fleet(spare={0}, empty={0})
    hosts.append(Host("a", "A100", ("r9",), missing=True))
    hosts.append(Host("b", "A100", ("r9",), empty=True, spare=True))
    assert plan(hosts, 1) == SpareChange(free=("b",))


def test_without_any_wanted_all_are_given_free() -> None:
    assert plan(fleet(spare={0, 1}, empty={0, 1}), 0) == SpareChange(free=("n0", "n1"))


@given(
    st.lists(
        st.builds(
            Host,
            name=st.just(""),
            kind=st.sampled_from(["a", "b"]),
            place=st.sampled_from([("r0",), ("r1",)]),
            empty=st.booleans(),
            spare=st.booleans(),
            missing=st.booleans(),
        ),
        max_size=12,
    ),
    st.integers(0, 4),
)
def test_a_plan_that_was_carried_out_changes_nothing_more(hosts: list[Host], wanted: int) -> None:
    named = {f"n{i}": replace(host, name=f"n{i}") for i, host in enumerate(hosts)}
    found = plan(list(named.values()), wanted)
    assert all(named[name].empty and not named[name].missing for name in found.keep)
    assert all(named[name].spare for name in found.free)
    for name in found.keep:
        named[name] = replace(named[name], spare=True)
    for name in found.free:
        named[name] = replace(named[name], spare=False)
    after = plan(list(named.values()), wanted)
    assert after.free == ()
    assert set(after.keep) <= set(found.free)
    for kind in "ab":
        spare = [h for h in named.values() if h.kind == kind and h.spare and not h.missing]
        assert len(spare) <= wanted
