"""When the status of queues and policies is due."""

from collections.abc import Sequence

from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import QueueSet
from ganglion.model.queue import Queue
from ganglion.worlds.kubernetes.cluster_view.orders import ObjectChanged
from ganglion.worlds.kubernetes.config.read import configuration
from ganglion.worlds.kubernetes.config.status import QueueFigures
from ganglion.worlds.kubernetes.config.verdicts import AcceptedReason, Verdicts
from ganglion.worlds.kubernetes.queue_config import QueueObjects
from ganglion.worlds.kubernetes.reporting.reports import (
    BURST,
    PER_SECOND,
    Reporter,
    ReportSubject,
    unsettled,
)
from ganglion.worlds.kubernetes.reporting.statuses import SetStatus
from ganglion.worlds.kubernetes.types.meta import Anything
from tests.worlds.kubernetes.config.samples import queue


def due(
    reporter: Reporter, items: Sequence[Anything], now: int, pending: int = 0
) -> list[SetStatus]:
    subjects = [ReportSubject("", "Queue", each) for each in items]
    figures = {each.metadata.name: QueueFigures(pending=pending) for each in items}
    found = reporter.due(subjects, configuration(items, []).verdicts, figures, now)
    return found.get("", [])


def queues(count: int) -> list[Anything]:
    return [queue(f"q-{index:03}") for index in range(count)]


def test_figures_of_an_object_are_written_at_most_every_ten_seconds() -> None:
    reporter, (item,) = Reporter(), queues(1)
    (first,) = due(reporter, [item], 1_000)
    assert first.path.endswith("/q-000")
    judged = [replace(item, status=dict(first.patch))]
    times = [now for now in range(2_000, 32_000, 500) if due(reporter, judged, now, pending=now)]
    assert times == [11_000, 21_000, 31_000]


def test_a_changed_verdict_waits_a_second_at_most_not_for_the_figures() -> None:
    reporter, (item,) = Reporter(), [queue("a", 1)]
    (first,) = due(reporter, [item], 1_000)
    edited = replace(queue("a", 2), status=dict(first.patch))
    times = [now for now in range(1_250, 4_500, 250) if due(reporter, [edited], now)]
    assert times == [2_000, 3_000, 4_000]


def test_what_is_as_it_should_be_is_not_written() -> None:
    reporter, (item,) = Reporter(), queues(1)
    (first,) = due(reporter, [item], 1_000)
    assert due(reporter, [replace(item, status=dict(first.patch))], 60_000) == []


def test_all_together_are_a_few_a_second_and_everybody_has_its_turn() -> None:
    reporter, items = Reporter(), queues(60)
    written: list[str] = []
    for now in range(1_000, 21_000, 1_000):
        found = due(reporter, items, now, pending=now)
        assert len(found) <= (BURST if now == 1_000 else PER_SECOND)
        written += [each.path for each in found]
    assert len(set(written)) == 60
    assert len(written) == BURST + 19 * PER_SECOND


def test_a_look_is_taken_again_soon_while_more_is_due_than_may_be_written() -> None:
    reporter = Reporter()
    due(reporter, queues(1), 1_000)
    assert not reporter.is_due(5_999)
    assert reporter.is_due(6_000)
    due(reporter, queues(60), 6_000)
    assert reporter.is_due(7_000)
    reporter.hurry()
    assert reporter.is_due(6_001)


def test_a_verdict_on_an_earlier_spec_is_not_written_on_a_later_one() -> None:
    earlier, later = queue("a", 1), queue("a", 2)
    verdicts = configuration([earlier], []).verdicts
    assert Reporter().due([ReportSubject("", "Queue", later)], verdicts, {}, 1_000) == {}


def test_an_engine_that_keeps_a_queue_is_told_of() -> None:

    state = ClusterState()
    for each in (Queue("a"), Queue("gone")):
        state.apply(QueueSet(0, each))
    assert set(unsettled(state, [Queue("a")])) == {"gone"}
    assert unsettled(state, [Queue("a"), Queue("gone")]) == {}
    assert set(unsettled(state, [Queue("a", parent="gone"), Queue("gone")])) == {"a"}


def test_nothing_of_an_object_outlives_it() -> None:

    tree = QueueObjects()
    good, bad = queue("a", 1, weight=2), queue("a", 2, weight="heavy")
    tree.sift([ObjectChanged("", "queue", "uid-a", good)])
    assert (found := tree.changed([])) is not None
    assert found.queues[0].over_quota_weight == 2
    tree.sift([ObjectChanged("", "queue", "uid-a", bad)])
    assert (found := tree.changed([])) is not None
    assert found.queues[0].over_quota_weight == 2, "what was accepted before"
    tree.sift(
        [ObjectChanged("", "queue", "uid-a", None), ObjectChanged("", "queue", "another", bad)]
    )
    assert (found := tree.changed([])) is not None
    assert [each.name for each in found.queues] == ["default"], "open to pods that name none"


def test_a_queue_of_one_name_in_two_clusters_counts_once_and_the_other_is_told() -> None:
    tree = QueueObjects()
    for cluster, weight in (("b", 3), ("a", 2)):
        item = queue("q", 1, weight=weight)
        item = replace(item, metadata=replace(item.metadata, uid=cluster))
        tree.sift([ObjectChanged(cluster, "queue", cluster, item)])
    found = tree.changed([])
    assert found is not None
    assert [each.over_quota_weight for each in found.queues if each.name == "q"] == [2]
    given = Verdicts(found.verdicts)
    by_cluster = {e.cluster: given.on("Queue", e.item.metadata) for e in tree.subjects()}
    assert by_cluster["a"] is not None
    assert by_cluster["a"].reason is AcceptedReason.ACCEPTED
    assert by_cluster["b"] is not None
    assert by_cluster["b"].reason is AcceptedReason.ELSEWHERE
    assert "cluster a has a Queue of this name" in by_cluster["b"].message


def test_equal_queues_in_two_clusters_are_one_whatever_their_generations() -> None:
    tree = QueueObjects()
    for generation, cluster in enumerate("ab", 1):
        item = queue("q", generation, weight=2)
        item = replace(item, metadata=replace(item.metadata, uid=cluster))
        tree.sift([ObjectChanged(cluster, "queue", cluster, item)])
    found = tree.changed([])
    assert found is not None
    given = Verdicts(found.verdicts)
    verdicts = [given.on("Queue", each.item.metadata) for each in tree.subjects()]
    assert [(e.accepted, e.generation) for e in verdicts if e] == [(True, 1), (True, 2)]
