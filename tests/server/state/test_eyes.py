"""Eyes look in threads of their own; one that waits or fails blinds no other."""

import threading
import time
from collections.abc import Callable
from typing import Any

from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Witness
from ganglion.server.state.eyes import Eyes

PATIENCE_S = 20


def until(true: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + PATIENCE_S
    while not (answer := true()):
        assert time.monotonic() < give_up
        time.sleep(0.005)
    return answer


class Onlooker:
    """Counts its looks; may be held up, or be broken."""

    required = frozenset({Witness.GPU})

    def __init__(self) -> None:
        self.looks = self.closed = 0
        self.go = threading.Event()
        self.go.set()
        self.broken = False

    def look(self) -> Look:
        self.go.wait(PATIENCE_S)
        self.looks += 1
        if self.broken:
            raise RuntimeError("a bug")
        return Look(self.looks)

    def close(self) -> None:
        self.closed += 1


A, B = ("a/0", 1), ("b/0", 1)


def test_what_was_seen_last_is_there_and_who_has_to_vouch() -> None:
    one = Onlooker()
    with Eyes().open() as eyes:
        assert eyes.seen(A) is None
        eyes.meet(A, one, 1)
        until(lambda: (seen := eyes.seen(A)) and seen.look and seen.look.at > 3)
        seen = eyes.seen(A)
        assert seen
        assert seen.required == {Witness.GPU}
    assert one.closed == 1


def test_those_that_hang_do_not_blind_the_others() -> None:
    stuck, free = Onlooker(), Onlooker()
    stuck.go.clear()
    with Eyes(threads=2).open() as eyes:
        eyes.meet(A, stuck, 1)
        eyes.meet(B, free, 1)
        until(lambda: free.looks > 10)
        assert (seen := eyes.seen(A))
        assert seen.look is None
        stuck.go.set()


def test_a_bug_leaves_one_unknown_and_is_tried_again() -> None:
    broken = Onlooker()
    broken.broken = True
    with Eyes().open() as eyes:
        eyes.meet(A, broken, 1)
        until(lambda: broken.looks > 2)
        assert (seen := eyes.seen(A))
        assert (seen.look, seen.required) == (None, frozenset())
        broken.broken = False
        until(lambda: (seen := eyes.seen(A)) and seen.look)


def test_nobody_looks_at_what_is_not_wanted_any_more() -> None:
    gone, kept = Onlooker(), Onlooker()
    gone.go.clear()
    with Eyes().open() as eyes:
        eyes.meet(A, gone, 1)
        eyes.meet(B, kept, 1)
        until(lambda: kept.looks)
        eyes.keep({B})
        assert not eyes.knows(A)
        assert eyes.knows(B)
        gone.go.set()  # it is closed once the look that was under way is over
        until(lambda: gone.closed == 1)
        before = gone.looks
        until(lambda: kept.looks > before + 20)
        assert gone.looks == before


def test_one_is_met_once() -> None:
    first, second = Onlooker(), Onlooker()
    with Eyes().open() as eyes:
        eyes.meet(A, first, 1)
        eyes.meet(A, second, 1)
        until(lambda: first.looks > 2)
    assert (second.looks, second.closed) == (0, 1)


def test_many_share_few_threads() -> None:
    crowd = [Onlooker() for _ in range(50)]
    with Eyes(threads=2).open() as eyes:
        for number, each in enumerate(crowd):
            eyes.meet((f"w-{number}/0", 1), each, 1)
        until(lambda: min(each.looks for each in crowd) > 2)
    assert all(each.closed == 1 for each in crowd)
