"""What is decided about workspaces depends on what was seen of them, and on nothing else."""

from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.observations import Sight, Witness
from ganglion.lifecycle.workspaces.reconciler import Action, Key, ObservedWorkspace, Workspaces
from ganglion.lifecycle.workspaces.rule import Act, Warned
from ganglion.model.behaviour import Idle
from ganglion.model.workload import Kind, Workload

MIN = 60_000
START = 1_000_000 * MIN
NOTEBOOK = Workload("nb", Kind.WORKSPACE, idle_timeout_ms=30 * MIN, idle=Idle(warn_ms=5 * MIN))
KEY = ("nb/0", 1)
REQUIRED = frozenset({Witness.PROCESSES})


def observed(at: int, *, moved: int = 0, warned: Warned | None = None) -> ObservedWorkspace:
    sight = Sight(Witness.PROCESSES, at, at - MIN, moved)
    return ObservedWorkspace(NOTEBOOK, REQUIRED, Look(at, (sight,), Loss(kernels=2)), warned)


def course(minutes: int, key: Key = KEY, warned: Warned | None = None) -> dict[int, Action]:
    """Minute -> what was done, while nothing moves."""
    reconciler, done = Workspaces(), dict[int, Action]()
    for minute in range(minutes + 1):
        now = START + minute * MIN
        found = reconciler.decide({key: observed(now, warned=warned)}, now)
        if found:
            done[minute] = found[key]
            warned = found[key].warned
    return done


def test_a_warning_says_when_it_goes_and_what_is_lost_then() -> None:
    done = course(24)
    (action,) = done.values()
    # The first look vouches for the minute before it.
    assert (list(done), action.act) == ([24], Act.WARN)
    assert action.message.startswith("idle for 25 min: it is suspended in 5 min unless it is used;")
    assert "the variables of 2 kernels" in action.message
    assert action.warned == Warned(START + 24 * MIN, START + 29 * MIN)


def test_it_is_suspended_when_the_warning_is_over_and_no_warning_stands_then() -> None:
    action = course(29)[29]
    assert (action.act, action.message, action.warned) == (Act.SUSPEND, "", None)
    assert action.found == "idle for 30 min"


def test_a_new_attempt_begins_with_nothing_seen() -> None:
    reconciler = Workspaces()
    for minute in range(24):
        reconciler.decide({KEY: observed(START + minute * MIN)}, START + minute * MIN)
    now = START + 24 * MIN
    assert reconciler.decide({("nb/0", 2): observed(now)}, now) == {}
    assert reconciler.finding(KEY) == ""


def test_a_look_that_was_seen_before_is_not_seen_twice() -> None:
    reconciler, look = Workspaces(), observed(START)
    for minute in range(40):
        assert reconciler.decide({KEY: look}, START + minute * MIN) == {}
    assert reconciler.finding(KEY) == "unknown: processes: no report for 39 min"


def test_movement_takes_the_warning_back() -> None:
    warned = Warned(START - MIN, START + 4 * MIN)
    found = Workspaces().decide({KEY: observed(START, moved=START, warned=warned)}, START)
    assert found == {KEY: Action(Act.TAKE_BACK, "processes, 0 s ago")}
