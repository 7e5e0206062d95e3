from ganglion.lifecycle.failures.stragglers import LEAST_STEPS, Stragglers


def train(hints: Stragglers, gang: str, nodes: list[str], step_ms: int, at: int = 0) -> None:
    """One attempt, long enough to be measured."""
    hints.started(gang, nodes)
    for step in range(1, LEAST_STEPS + 2):
        hints.step(gang, step, at + step * step_ms)


def test_a_node_that_slows_several_workloads_down_is_named() -> None:
    hints = Stragglers()
    for job in ("a/0", "b/0"):
        train(hints, job, ["n1", "n2"], 100)
        train(hints, job, ["n1", "n3"], 180)
    assert hints.hint("n3") == (
        "2 workloads get on slower with it than without, by up to 1.8 times"
    )
    assert not hints.hint("n1")
    assert not hints.hint("n2")


def test_one_workload_alone_says_nothing_about_a_node() -> None:
    hints = Stragglers()
    for index in range(5):
        train(hints, f"a/{index}", ["n1"], 100)
        train(hints, f"a/{index}", ["n3"], 300)
    assert not hints.hint("n3")


def test_a_little_slower_is_not_slow() -> None:
    hints = Stragglers()
    for job in ("a/0", "b/0"):
        train(hints, job, ["n1"], 100)
        train(hints, job, ["n3"], 120)
    assert not hints.hint("n3")


def test_a_node_that_was_mended_is_not_named_any_more() -> None:
    hints = Stragglers()
    for job in ("a/0", "b/0"):
        train(hints, job, ["n1"], 100)
        train(hints, job, ["n3"], 300)
    assert hints.hint("n3")
    hints.forget("n3")
    assert not hints.hint("n3")


def test_too_few_steps_say_nothing() -> None:
    hints = Stragglers()
    for job in ("a/0", "b/0"):
        train(hints, job, ["n1"], 100)
        hints.started(job, ["n3"])
        hints.step(job, 1, 0)
        hints.step(job, LEAST_STEPS, 10**6)
    assert not hints.hint("n3")
