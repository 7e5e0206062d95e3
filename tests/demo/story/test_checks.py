"""A promise that was broken is reported as broken."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from ganglion.api.workloads import GangView, WorkloadDetail
from ganglion.client import Client
from ganglion.demo.story import checks
from ganglion.model.errors import NotFound

GOOD = "step 20 loss 2.0\nstep 40 loss 0.3\nfinished: accuracy 0.900 weights 12345678\n"


class Logs:
    """In place of a server that has these logs."""

    def __init__(self, logs: dict[tuple[int, int], str]) -> None:
        self.texts = logs

    @contextmanager
    def logs(self, ref: str, *, index: int, rank: int, **_: Any) -> Iterator[Iterator[bytes]]:
        if (index, rank) not in self.texts:
            raise NotFound(f"{ref} has no log of rank {rank}")
        yield iter([self.texts[index, rank].encode()])


def client(logs: dict[tuple[int, int], str]) -> Client:
    return cast("Client", Logs(logs))


def detail(gangs: int = 1) -> WorkloadDetail:
    return WorkloadDetail(
        *("x-1", "x", "train", "vision", "ada", 50, "SUCCEEDED"),
        gangs=tuple(
            GangView(id=f"x-1/{index}", index=index, phase="ended") for index in range(gangs)
        ),
    )


def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints" / "x-1" / "0"
    folder.mkdir(parents=True)
    (folder / "checkpoint.npz").touch()
    return tmp_path


def held(found: list[checks.PromiseCheck]) -> list[bool]:
    return [each.held for each in found]


def test_good_training_keeps_its_promises(tmp_path: Path) -> None:
    logs = {(0, rank): GOOD for rank in range(2)}
    assert held(checks.training(client(logs), detail(), 2, saved(tmp_path))) == [True] * 3


def test_training_that_did_not_learn_is_found(tmp_path: Path) -> None:
    logs = {(0, 0): GOOD.replace("0.900", "0.100")}
    assert held(checks.training(client(logs), detail(), 1, saved(tmp_path)))[0] is False


def test_ranks_that_disagree_are_found(tmp_path: Path) -> None:
    logs = {(0, 0): GOOD, (0, 1): GOOD.replace("12345678", "12345679")}
    assert held(checks.training(client(logs), detail(), 2, saved(tmp_path)))[1] is False


def test_a_rank_that_never_finished_is_found(tmp_path: Path) -> None:
    logs = {(0, 0): GOOD, (0, 1): "step 20 loss 2.0\n"}
    assert held(checks.training(client(logs), detail(), 2, saved(tmp_path)))[1] is False


def test_a_missing_checkpoint_is_found(tmp_path: Path) -> None:
    assert held(checks.training(client({(0, 0): GOOD}), detail(), 1, tmp_path))[2] is False


def result(rate: float, accuracy: float) -> str:
    return f'{{"lr": {rate}, "hidden": 4, "accuracy": {accuracy}}}\n'


def test_a_whole_sweep_names_the_best_trial() -> None:
    logs = {(0, 0): result(0.1, 0.5), (1, 0): "warming up\n" + result(0.2, 0.7)}
    found = checks.sweep(client(logs), detail(2))
    assert (found.held, "lr 0.2" in found.detail) == (True, True)


@pytest.mark.parametrize("second", ["", result(0.1, 0.5), result(0.2, 0.5)])
def test_a_sweep_that_lacks_a_result_of_its_own_is_found(second: str) -> None:
    logs = {(0, 0): result(0.1, 0.5), (1, 0): second}
    assert checks.sweep(client(logs), detail(2)).held is False


def test_a_replica_that_does_not_answer_is_found() -> None:
    logs = {(0, 0): "listening on http://127.0.0.1:9\n"}  # the discard port: nothing listens
    assert checks.http(client(logs), "api", 1).held is False
    assert checks.http(client({}), "api", 1).held is False


def test_services_are_ready_when_all_replicas_listen() -> None:
    logs = {(0, 0): "listening on http://127.0.0.1:1\n", (1, 0): ""}
    assert checks.answering(client(logs), "api", 1) is True
    assert checks.answering(client(logs), "api", 2) is False
    assert checks.answering(client({}), "api", 1) is False
