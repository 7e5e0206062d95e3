"""Virtual time."""

from ganglion.worlds.simulated.heap import Heap


def test_entries_come_in_order_of_time_then_of_being_planned() -> None:
    heap = Heap()
    for when, name in ((5, "c"), (3, "a"), (5, "d"), (3, "b")):
        heap.push(when, 0, name)
    seen = []
    while (at := heap.next_time()) is not None:
        heap.now = at
        while action := heap.pop():
            seen.append((at, action[1]))
    assert seen == [(3, "a"), (3, "b"), (5, "c"), (5, "d")]


def test_nothing_comes_before_its_time() -> None:
    heap = Heap()
    heap.push(7, 0, "later")
    assert heap.pop() is None


def test_the_past_means_now() -> None:
    heap = Heap()
    heap.now = 10
    heap.push(4, 0, "late")
    assert heap.next_time() == 10


def test_what_is_in_the_background_does_not_keep_a_run_going() -> None:
    heap = Heap()
    heap.push(1, 0, "some day", background=True)
    assert heap.next_time() is None
    heap.push(2, 0, "work")
    assert heap.next_time() == 1


def test_what_is_cancelled_does_not_happen_and_does_not_keep_a_run_going() -> None:
    heap = Heap()
    number = heap.push(5, 0, "a")
    heap.push(7, 0, "b")
    heap.cancel(number)
    assert heap.next_time() == 7
    heap.now = 7
    assert heap.pop() == (0, "b")
    assert heap.pop() is None
    assert heap.next_time() is None


def test_cancelling_what_is_in_the_background_changes_nothing_about_the_rest() -> None:
    heap = Heap()
    number = heap.push(5, 0, "some day", background=True)
    heap.push(7, 0, "work")
    heap.cancel(number, background=True)
    assert heap.next_time() == 7
