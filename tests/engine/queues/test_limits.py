"""What a queue may use more: bounds at every level above it, and what others keep back."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.queues.usage import Shares
from ganglion.model.queue import Queue
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import Amount, GpuRequest, PodRequest, Usage
from ganglion.model.workload import PodSet
from tests.engine.build import gang, node, started, state_of, submit

PLENTY = 1_000_000


def gpus(count: int) -> dict[str, Amount]:
    return {"*": Amount(gpu_milli=count * 1000)}


def shares_of(*queues: Queue) -> Shares:
    shares = Shares()
    for queue in queues:
        shares.put(queue)
    return shares


def use(shares: Shares, queue: str, count: int, user: str = "", preemptible: bool = True) -> None:
    shares.charge(queue, "H100", Usage(count * 1000), preemptible, 1, user)


def ask(
    shares: Shares,
    queue: str,
    count: int,
    free: int = PLENTY,
    preemptible: bool = True,
    user: str = "",
    flavor: str = "*",
) -> Reason | None:
    amount = Usage(count * 1000)
    found = shares.passed(queue, flavor, amount, preemptible, lambda _: free * 1000, user)
    return found and found.reason


def cohort(limit: int = 16) -> Shares:
    """A cohort of 16 whose child `shy` keeps back 4 of its 8."""
    return shares_of(
        Queue("cohort", limit=gpus(limit)),
        Queue("team", "cohort", quota=gpus(8)),
        Queue("shy", "cohort", quota=gpus(8), lend_limit=gpus(4)),
    )


def test_a_limit_above_leaves_out_what_a_sibling_does_not_lend() -> None:
    shares = cohort()

    assert ask(shares, "team", 12) is None
    reason = ask(shares, "team", 13)

    assert reason
    assert reason.message == (
        "queue cohort uses 0 of its limit of 16 GPUs, and 4 are kept back for queues that do not"
        " lend them; 13 more would pass it"
    )
    assert reason.evidence == {
        "used_milli": 0,
        "limit_milli": 16000,
        "asked_milli": 13000,
        "kept_milli": 4000,
    }
    assert reason.never
    assert reason.remedy is Remedy.ADMIN


def test_what_is_kept_back_shrinks_as_its_owner_uses_it() -> None:
    shares = cohort()
    use(shares, "shy", 3)

    assert ask(shares, "team", 12) is None
    assert ask(shares, "shy", 13) is None


def test_a_refusal_that_time_can_lift_is_not_for_ever() -> None:
    shares = cohort()
    use(shares, "team", 4)

    reason = ask(shares, "team", 9)

    assert reason
    assert not reason.never


def test_nested_lending_limits_are_honoured_inside_every_limit_above() -> None:
    shares = shares_of(
        Queue("all", limit=gpus(20)),
        Queue("left", "all", quota=gpus(12), limit=gpus(12)),
        Queue("right", "all", quota=gpus(8)),
        Queue("l1", "left", quota=gpus(6), lend_limit=gpus(2)),
        Queue("l2", "left", quota=gpus(6)),
        Queue("r1", "right", quota=gpus(8)),
    )

    assert ask(shares, "l2", 8) is None
    assert "queue left" in str(ask(shares, "l2", 9))
    assert ask(shares, "r1", 16) is None
    assert "queue all" in str(ask(shares, "r1", 17))


def test_what_a_parent_keeps_and_what_its_children_keep_is_counted_once() -> None:
    shares = shares_of(
        Queue("all", limit=gpus(16)),
        Queue("left", "all", quota=gpus(8), lend_limit=gpus(2)),
        Queue("l1", "left", quota=gpus(8), lend_limit=gpus(2)),
        Queue("right", "all", quota=gpus(8)),
    )

    assert ask(shares, "right", 10) is None
    assert ask(shares, "right", 11) is not None


def test_a_quota_above_does_not_undo_what_is_kept_back_below() -> None:
    shares = shares_of(
        Queue("root", quota=gpus(15), limit=gpus(15)),
        Queue("child", "root", quota=gpus(15)),
        Queue("lender", "child", quota=gpus(10), lend_limit=gpus(3)),
        Queue("borrower", "child", quota=gpus(5), limit=gpus(15)),
    )
    use(shares, "borrower", 5)

    assert ask(shares, "borrower", 3) is None
    assert ask(shares, "borrower", 4) is not None


def test_more_quota_than_there_is_blocks_nobody_within_its_own() -> None:
    shares = shares_of(
        Queue("a", quota=gpus(8), lend_limit=gpus(0)),
        Queue("b", quota=gpus(8), lend_limit=gpus(0)),
    )

    assert ask(shares, "a", 8, free=8) is None
    assert ask(shares, "b", 9, free=12) is not None


def test_work_that_nobody_may_stop_stays_within_quota_at_every_level() -> None:
    shares = shares_of(Queue("org", quota=gpus(4)), Queue("team", "org", quota=gpus(8)))
    use(shares, "team", 3, preemptible=False)
    use(shares, "team", 3)

    assert ask(shares, "team", 1, preemptible=False) is None
    reason = ask(shares, "team", 2, preemptible=False)

    assert reason
    assert reason.message == (
        "work of queue org that may not be stopped uses 3 of its quota of 4 GPUs;"
        " 2 more would pass it"
    )


def test_quota_by_flavor_guarantees_nothing_of_other_flavors() -> None:
    quota = {"H100": Amount(gpu_milli=8000)}
    shares = shares_of(Queue("team", quota=quota))

    assert ask(shares, "team", 1, preemptible=False, flavor="H100") is None
    assert ask(shares, "team", 1, preemptible=False, flavor="T4") is not None
    assert ask(shares, "team", 1, flavor="T4") is None


def test_one_user_may_not_take_more_than_the_user_limit() -> None:
    shares = shares_of(Queue("org", user_limit=gpus(4)), Queue("a", "org"), Queue("b", "org"))
    use(shares, "a", 2, user="ada")
    use(shares, "b", 1, user="ada")

    assert ask(shares, "b", 4, user="bob") is None
    assert ask(shares, "b", 1, user="ada") is None
    reason = ask(shares, "b", 2, user="ada")

    assert reason
    assert reason.message == (
        "user ada in queue org uses 3 of its user limit of 4 GPUs; 2 more would pass it"
    )
    assert reason.evidence == {"used_milli": 3000, "user_limit_milli": 4000, "asked_milli": 2000}
    assert not reason.never


def test_a_gang_larger_than_the_user_limit_never_starts() -> None:
    state = state_of(node("n0"), queues=(Queue("team", user_limit=gpus(2)),))

    plan = submit(state, gang("big", gpus=4, user="ada"), gang("small", user="ada"))

    assert started(plan) == ["small"]
    reason = state.gangs.reason("big/0")
    assert reason
    assert reason.never


amounts = st.integers(0, 10)


@given(
    st.lists(st.tuples(amounts, amounts, amounts), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), max_size=20),
)
def test_owners_can_always_use_what_they_keep_back(
    teams: list[tuple[int, int, int]], asks: list[tuple[int, int]]
) -> None:
    total = sum(quota for quota, _, _ in teams)
    shares = shares_of(
        Queue("root", limit=gpus(total)),
        *(
            Queue(f"q{i}", "root", quota=gpus(quota), lend_limit=gpus(lend))
            for i, (quota, lend, _) in enumerate(teams)
        ),
    )
    for queue, count in asks:
        name = f"q{queue % len(teams)}"
        if ask(shares, name, count) is None:
            use(shares, name, count)

    for i, (quota, lend, _) in enumerate(teams):
        used = shares.usage[f"q{i}"].get("*", Usage()).gpu_milli // 1000
        own = quota - lend - used
        assert own <= 0 or ask(shares, f"q{i}", own) is None


def test_sets_of_two_flavors_count_against_the_limit_of_each_alone() -> None:
    limits = {flavor: Amount(gpu_milli=2000) for flavor in ("H100", "A100")}
    state = state_of(node("h"), node("a", kind="A100"), queues=(Queue("team", limit=limits),))
    for name, more, expected in (("g", 0, ["g"]), ("h", 1, [])):
        sets = tuple(
            PodSet(flavor, 2 + more, request=PodRequest(gpu=GpuRequest(1, types=(flavor,))))
            for flavor in limits
        )
        plan = submit(state, replace(gang(name), pod_sets=sets))
        assert started(plan) == expected
    reason = state.gangs.reason("h/0")
    assert reason is not None
    assert (reason.token, reason.evidence["asked_milli"]) == (Token.QUOTA, 3000)
