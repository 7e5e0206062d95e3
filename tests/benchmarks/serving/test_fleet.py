"""The simulated services: every request is served once, and every replica is paid for."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from benchmarks.serving.batches import Batches
from benchmarks.serving.fleet import Fleet, Rules, Seen
from benchmarks.serving.models import Loaded, drawn
from benchmarks.serving.policies import Reactive, Static
from benchmarks.serving.prompts import Model, Prompt
from benchmarks.serving.requests import Request

RULES = Rules()


class Script:
    """Returns the given answers, one after the other; then the last for ever."""

    def __init__(self, *numbers: int) -> None:
        self._numbers, self.seen, self.took = list(numbers), list[Seen](), list[int]()

    def desired(self, seen: Seen) -> int:
        self.seen.append(seen)
        return self._numbers.pop(0) if len(self._numbers) > 1 else self._numbers[0]

    def started(self, took_ms: int) -> None:
        self.took.append(took_ms)


def test_a_request_waits_for_the_start_of_a_replica_and_the_policy_learns_how_long() -> None:
    policy = Script(1)
    served = Fleet([Request(20_000, 5_000)], policy, RULES).run()
    assert served.waits == [40_000]
    assert policy.took == [60_000]


def test_replicas_are_paid_from_decision_to_end() -> None:
    served = Fleet([Request(0, 70_000)], Script(1, 1, 1, 1, 0), RULES).run()
    # One replica from 0; told to go at 60 s as it begins, it goes after its request, at 130 s.
    assert served.replica_ms == 130_000
    assert served.waits == [60_000]


def test_one_that_starts_is_cancelled_before_one_that_works() -> None:
    requests = [Request(60_000, 60_000), Request(75_000, 1_000)]
    served = Fleet(requests, Script(1, 1, 1, 1, 2, 1), RULES).run()
    assert served.waits == [0, 45_000]
    assert served.starts == 2


def test_late_requests_and_the_queue_are_told() -> None:
    policy = Script(1)
    Fleet([Request(0, 1_000), Request(55_000, 1_000)], policy, RULES).run()
    assert [(each.waiting, each.late, each.arrived) for each in policy.seen] == [
        (1, 0, 1),
        (1, 0, 1),
        (1, 0, 1),
        (1, 0, 1),
        (1, 1, 2),
        (0, 1, 2),
    ]


requests = st.lists(
    st.builds(Request, st.integers(0, 600_000), st.integers(1, 90_000)), min_size=1, max_size=60
)


@settings(max_examples=examples(50, nightly=2_000), deadline=None)
@given(requests, st.integers(1, 200))
def test_no_replica_serves_two_at_once_and_nobody_is_forgotten(
    many: list[Request], percent: int
) -> None:
    ordered = sorted(many, key=lambda request: request.at)
    served = Fleet(ordered, Reactive(percent, 30_000), RULES).run()
    assert min(served.waits) >= 0
    begins = [each.at + wait for each, wait in zip(ordered, served.waits, strict=True)]
    ends = [begin + each.takes for begin, each in zip(begins, ordered, strict=True)]
    for begin in begins:
        at_once = sum(b <= begin < e for b, e in zip(begins, ends, strict=True))
        assert at_once <= served.most
    assert served.replica_ms >= sum(each.takes for each in ordered)


def serve_models(models: str, affinity: bool, replicas: int = 2) -> tuple[list[int], int]:
    """Waits and loads of requests a minute apart, each for the model of one letter."""
    many = [Request(120_000 + 60_000 * n, 1_000, model) for n, model in enumerate(models)]
    idle = Loaded(lambda: 20_000, affinity=affinity)
    return Fleet(many, Static(replicas), RULES, idle).run().waits, idle.loads


def test_affinity_finds_the_replica_that_has_the_model() -> None:
    waits, loads = serve_models("abababab", affinity=True)
    assert (loads, waits[2:]) == (2, [0] * 6)


def test_without_affinity_models_are_loaded_again_and_again() -> None:
    assert serve_models("abababab", affinity=False)[1] == 8


def test_affinity_gives_up_the_model_that_was_idle_for_longest() -> None:
    assert serve_models("abcbcbc", affinity=True)[1] == 3


def test_drawn_times_lie_between_the_quantiles() -> None:
    draw = drawn([(0.1, 1_000), (0.5, 3_000), (0.9, 9_000)], seed=1, least_ms=500)
    times = sorted(draw() for _ in range(1_000))
    assert times[0] == 1_500
    assert times[-1] == 9_500
    assert abs(times[500] - 3_500) < 300


MODEL = Model(prefill=1_000, decode=10, slots=2)


def answer(prompts: list[Prompt], replicas: int) -> list[int]:
    return Batches(prompts, Static(replicas), RULES, MODEL, replicas).run().first


def test_prompts_are_read_one_after_the_other() -> None:
    prompts = [Prompt(0, 2_000, 10), Prompt(0, 1_000, 10)]
    assert answer(prompts, 1) == [2_000, 3_000]
    assert answer(prompts, 2) == [2_000, 1_000]


def test_no_more_requests_than_slots() -> None:
    prompts = [Prompt(0, 1_000, 100), Prompt(0, 1_000, 100), Prompt(0, 1_000, 100)]
    # The first is done at 1 s + 10 s; only then the third is read.
    assert answer(prompts, 1) == [1_000, 2_000, 12_000]


def test_a_replica_that_goes_answers_what_it_has() -> None:
    prompts = [Prompt(0, 1_000, 200), Prompt(0, 1_000, 200)]
    served = Batches(prompts, Script(1), RULES, MODEL, 2).run()
    assert served.first == [1_000, 1_000]
    # One is stopped at 0 and goes once it has answered, at 21 s; the other stays to the end.
    assert served.replica_ms == 21_000 + 30_000


def test_nobody_is_obeyed_while_everybody_watches() -> None:
    policy = Script(0)
    served = Batches([Prompt(0, 1_000, 200)], policy, RULES, MODEL, 1, 60_000).run()
    assert len(policy.seen) == 3
    assert (served.starts, served.replica_ms) == (1, 30_000)


def test_the_share_of_a_replica_is_what_keeps_it_busy() -> None:
    short = [Prompt(0, 1_000, 1)]
    assert MODEL.per_replica(short, 100) == 1.1
    assert MODEL.per_replica([Prompt(0, 10, 1_000)], 50) == 1.0
