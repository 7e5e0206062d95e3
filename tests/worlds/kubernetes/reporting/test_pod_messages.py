"""Which pods get their reasons first, and what costs nothing."""

from msgspec.structs import replace

from ganglion.worlds.kubernetes.reporting.pod_messages import Rank, Sayings, WrittenReason
from ganglion.worlds.kubernetes.types.meta import Condition
from ganglion.worlds.kubernetes.types.pod import Pod
from tests.controlplane import manifests
from tests.worlds.kubernetes.workload_discovery.scene import pod

MANY = 2_000


def _made(name: str, told: str = "") -> Pod:
    found = pod(manifests.pod(name))
    if not told:
        return found
    condition = Condition("PodScheduled", "False", "Unschedulable", told)
    return replace(found, status=replace(found.status, conditions=(condition,)))


class Line:
    """Pods by UID, and the queue of those that wait for a message."""

    def __init__(self, *pods: Pod) -> None:
        self.pods = {each.metadata.uid: each for each in pods}
        self.sayings = Sayings(self.pods.get)

    def put(self, gang: str, *names: str, why: str = "full") -> None:
        found = [each.metadata for each in self.pods.values() if each.metadata.name in names]
        self.sayings.put(gang, found, why)

    def bind(self, name: str) -> None:
        for uid, each in self.pods.items():
            if each.metadata.name == name:
                self.pods[uid] = replace(each, spec=replace(each.spec, node_name="n"))

    def told(self) -> list[str]:
        found = iter(self.sayings.take, None)
        return [each.pod.metadata.name for each in found if each]


def test_pods_that_are_bound_by_now_cost_nothing() -> None:
    names = [f"bound-{number}" for number in range(MANY)]
    line = Line(*map(_made, names), _made("waits"))
    for name in names:
        line.put(name, name)
    for name in names:
        line.bind(name)
    line.put("waits", "waits")
    first = line.sayings.take()
    assert first
    assert first.pod.metadata.name == "waits"
    assert not line.sayings


def test_what_was_never_told_goes_first_and_one_of_each_gang_before_its_others() -> None:
    olds = [_made(f"old-{number}", told="busy") for number in range(2)]
    line = Line(*olds, *(_made(f"{gang}-{number}") for gang in "ab" for number in range(3)))
    line.put("old", "old-0", "old-1")
    line.put("a", "a-0", "a-1", "a-2")
    line.put("b", "b-0", "b-1", "b-2")
    told = line.told()
    assert told == ["a-0", "b-0", "a-1", "a-2", "b-1", "b-2", "old-0", "old-1"]


def test_what_a_pod_says_already_is_not_written_again_and_the_latest_word_stands() -> None:
    line = Line(_made("same", told="full"), _made("other"))
    line.put("same", "same")
    line.put("other", "other", why="quota")
    line.put("other", "other", why="full")
    saying = line.sayings.take()
    assert saying
    assert (saying.message, saying.rank, saying.is_new) == ("full", Rank.FIRST_OF_NEW, True)
    assert line.sayings.take() is None
    line.put("other", "other", why="newer")
    assert line.sayings.newest(saying) == "newer"
    line.sayings.end(saying, None)
    again = line.sayings.take()
    assert again
    assert again.message == "newer"


def test_no_older_reason_is_written_over_a_newer_one() -> None:
    line = Line(_made("p"))
    line.put("g", "p", why="no node")
    first = line.sayings.take()
    assert first
    line.put("g", "p", why="full")
    assert line.sayings.take() is None, "two reasons of one pod were under way at once"
    line.sayings.end(first, WrittenReason("no node", first.pod))
    second = line.sayings.take()
    assert second
    assert second.message == "full"
    line.sayings.end(second, WrittenReason("full", second.pod))
    assert line.sayings.take() is None


def test_what_was_written_and_is_not_seen_yet_counts() -> None:
    line = Line(_made("p", told="full"))
    line.put("g", "p", why="no node")
    saying = line.sayings.take()
    assert saying
    line.sayings.end(saying, WrittenReason("no node", saying.pod))
    line.put("g", "p", why="no node")
    assert line.sayings.take() is None
    line.put("g", "p", why="full")
    assert line.sayings.take(), "the pod is still seen with the reason of before"


def test_a_reason_that_was_refused_is_not_tried_on_and_on_but_a_later_time() -> None:
    line = Line(_made("p"))
    line.put("g", "p")
    saying = line.sayings.take()
    assert saying
    line.sayings.end(saying, WrittenReason("full", None))
    assert line.sayings.take() is None
    line.put("g", "p")
    assert line.sayings.take()


def test_when_the_first_of_a_gang_is_gone_the_next_one_is_its_first() -> None:
    line = Line(_made("a-0"), _made("a-1"), _made("b-0"))
    line.put("a", "a-0")
    line.bind("a-0")
    assert line.told() == []
    line.put("b", "b-0")
    line.put("a", "a-1")
    assert line.told() == ["b-0", "a-1"]
