"""The other programs of the demo do what they are shown for."""

import json
import subprocess
import sys

import httpx2
import pytest

from ganglion.demo import filler, trial


def test_trials_differ_by_their_parameters() -> None:
    found = {
        (rate, width): trial.evaluate(rate, width) for rate in (0.01, 0.2) for width in (4, 16)
    }
    assert len(set(found.values())) == 4
    assert max(found, key=lambda point: found[point]) == (0.2, 16)


def test_a_trial_prints_its_result_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    trial.main({"GANGLION_PARAM_LR": "0.2", "GANGLION_PARAM_HIDDEN": "4"})
    result = json.loads(capsys.readouterr().out)
    assert (result["lr"], result["hidden"], 0.2 < result["accuracy"] < 1.0) == (0.2, 4, True)


def test_a_filler_counts_primes() -> None:
    assert filler.primes(0, 100) == 25


def test_a_replica_answers_until_it_is_told_to_stop() -> None:
    command = [sys.executable, "-m", "ganglion.demo.serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        answers = [
            httpx2.get(f"{address}{path}", trust_env=False)
            for path in ("/", "/predict?seed=3", "/no")
        ]
        bad = httpx2.get(f"{address}/predict?seed=x", trust_env=False)
        process.terminate()
        rest = process.stdout.read()
    assert [each.status_code for each in [*answers, bad]] == [200, 200, 404, 400]
    assert answers[0].json()["pid"] == str(process.pid)
    body = answers[1].json()
    assert sum(a == b for a, b in zip(body["classes"], body["labels"], strict=True)) >= 3
    assert (process.returncode, "stopped after" in rest) == (0, True)
