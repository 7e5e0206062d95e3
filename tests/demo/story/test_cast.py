"""The files of the demo are workload files like any others."""

from ganglion.demo.story.cast import queues, workloads
from ganglion.demo.story.story import ENDLESS, FILLERS, RANKS, REPLICAS
from ganglion.model.workload import Kind, Workload
from ganglion.specs.workload.workload import from_document, to_workload


def cast() -> dict[str, Workload]:
    return {
        name: to_workload(from_document(document), user="ada", default_queue="default")
        for name, document in workloads().items()
    }


def test_every_kind_of_workload_plays() -> None:
    assert {each.kind for each in cast().values()} == set(Kind)


def test_the_story_names_workloads_that_exist() -> None:
    finite = {"vision-train", "search-tuning", "search-index", "language-pretrain"}
    assert {*finite, *ENDLESS, "language-giant"} == set(workloads())


def test_every_workload_goes_to_a_team() -> None:
    teams = {name for name, document in queues().items() if document.get("parent") == "acme"}
    assert {each.queue for each in cast().values()} == teams
    assert len(teams) == 3


def test_the_training_and_the_service_are_as_large_as_the_story_says() -> None:
    found = cast()
    (pods,) = found["vision-train"].pod_sets
    assert (pods.count, pods.procs, pods.count * pods.procs) == (2, 2, RANKS)
    assert found["vision-api"].replicas == REPLICAS


def test_the_sweep_has_four_points() -> None:
    values = [len(each) for each in cast()["search-tuning"].params.values()]
    assert (values, cast()["search-tuning"].parallel) == ([2, 2], 4)


def test_while_the_others_run_no_rack_has_room_for_the_one_that_waits() -> None:
    found = cast()
    search = [found["search-index"]] * FILLERS
    first = [found["vision-train"], found["vision-api"], found["language-notebook"], *search]
    used = sum(
        pods.count * pods.request.gpu.count * one.replicas for one in first for pods in one.pod_sets
    )
    # Training leaves four on either node of its rack. That rack has 16, so the rest is on the
    # two nodes of the other one, and at least half of the rest on one of them.
    beside = used - 16
    assert 8 - -(-beside // 2) < found["language-pretrain"].pod_sets[0].request.gpu.count


def test_the_fillers_take_all_that_their_team_may_use() -> None:
    gpus = cast()["search-index"].pod_sets[0].request.gpu.count * FILLERS
    assert queues()["search"]["limit"]["H100"] == gpus
