"""Training learns, agrees, saves and goes on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.demo.rings import free_port, together

from ganglion.demo import checkpoints
from ganglion.demo.checkpoints import TrainingCheckpoint
from ganglion.demo.model import Classifier, ExampleBatch, examples
from ganglion.demo.ring import Ring
from ganglion.demo.train import TERMINATED, Training, run


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    model, batch = Classifier(hidden=5, seed=3), examples(20, seed=4)
    _, gradient = model.gradient(batch)
    for index in range(0, len(gradient), 17):
        model.weights[index] += 1e-6
        above = model.gradient(batch)[0]
        model.weights[index] -= 2e-6
        below = model.gradient(batch)[0]
        model.weights[index] += 1e-6
        assert gradient[index] == pytest.approx((above - below) / 2e-6, abs=1e-5)


def test_all_ranks_learn_one_model() -> None:
    def work(ring: Ring) -> tuple[float, str, bool]:
        training = Training(ring, None)
        for _ in range(120):
            training.advance()
        accuracy = training.model.accuracy(examples(1_000, seed=5))
        return accuracy, training.checksum(), training.ranks_agree()

    results = together(4, work)
    assert len(set(results)) == 1
    assert results[0][0] > 0.7
    assert results[0][2]


def test_ranks_that_differ_are_found_out() -> None:
    def work(ring: Ring) -> bool:
        training = Training(ring, None)
        if ring.rank == 1:
            training.model.weights[0] += 1e-12
        return training.ranks_agree()

    assert together(3, work) == [False] * 3


def test_two_ranks_step_like_one_with_twice_the_data() -> None:
    def work(ring: Ring) -> np.ndarray:
        training = Training(ring, None)
        training.advance()
        return training.model.weights

    data = [examples(512, seed=1_000 + rank) for rank in range(2)]
    model = Classifier(hidden=32, seed=1)
    inputs, labels = zip(*[(each.inputs[:64], each.labels[:64]) for each in data], strict=True)
    _, gradient = model.gradient(ExampleBatch(np.concatenate(inputs), np.concatenate(labels)))
    np.testing.assert_allclose(together(2, work)[0], model.weights - 0.2 * gradient, atol=1e-12)


def test_a_run_that_was_cut_in_two_ends_with_the_weights_of_a_whole_one(tmp_path: Path) -> None:
    def work(folder: Path, steps: int) -> str:
        def one(ring: Ring) -> str:
            training = Training(ring, folder)
            assert run(training, steps, every=5, pace_s=0.0) == 0
            return training.checksum()

        return together(2, one)[0]

    whole = work(tmp_path / "whole", 30)
    work(tmp_path / "cut", 15)
    assert work(tmp_path / "cut", 30) == whole


def test_a_resumed_run_does_not_start_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ring(0, 1, ("127.0.0.1", 0)) as ring:
        run(Training(ring, tmp_path), 10, every=5, pace_s=0.0)
        run(Training(ring, tmp_path), 20, every=5, pace_s=0.0)
    assert "starts at step 10 of 20" in capsys.readouterr().out


def test_one_rank_told_to_stop_stops_all_and_saves(tmp_path: Path) -> None:
    def work(ring: Ring) -> int:
        training = Training(ring, tmp_path)
        training.told_to_stop = ring.rank == 2
        return run(training, 1_000, every=500, pace_s=0.0)

    assert together(3, work) == [TERMINATED] * 3
    saved = checkpoints.load(tmp_path)
    assert saved is not None
    assert saved.step == 1


def test_sigterm_makes_a_real_process_save_and_leave(tmp_path: Path) -> None:
    env = os.environ | {"GANGLION_CHECKPOINT_DIR": str(tmp_path), "MASTER_PORT": str(free_port())}
    command = [sys.executable, "-m", "ganglion.demo.train", "--steps=100000", "--every=1"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "step 2 " in line:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stdout.read()
    assert process.returncode == TERMINATED
    assert "stopped on request and saved" in rest
    saved = checkpoints.load(tmp_path)
    assert saved is not None
    assert saved.step >= 2


def test_a_checkpoint_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints.save(tmp_path, TrainingCheckpoint(1, np.ones(3)))

    def die(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(np, "savez", die)
    with pytest.raises(OSError, match="the disk is full"):
        checkpoints.save(tmp_path, TrainingCheckpoint(2, np.zeros(3)))
    saved = checkpoints.load(tmp_path)
    assert saved is not None
    assert (saved.step, saved.weights.tolist()) == (1, [1.0, 1.0, 1.0])


def test_without_a_checkpoint_there_is_nothing_to_load(tmp_path: Path) -> None:
    assert checkpoints.load(tmp_path) is None
