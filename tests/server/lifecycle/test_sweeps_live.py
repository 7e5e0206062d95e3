"""A sweep of real processes: what they report decides who goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.process import Api, Nursery, until

# The worse the later, so that every trial meets the better ones that came before it.
RUN = """
sleep 0.{x}
echo '{"metrics": {"step": 1, "loss": 0.{x}}}' >> $GANGLION_REPORT_FILE
while [ ! -e %s ]; do sleep 0.05; done
"""


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    made = Nursery(tmp_path / "home")
    made.start()
    yield made
    made.close()


@pytest.fixture
def api(nursery: Nursery) -> Iterator[Api]:
    made = Api(nursery.home)
    yield made
    made.close()


def test_trials_that_report_worse_are_stopped_and_the_sweep_succeeds(
    api: Api, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    document = {
        "name": "hpo",
        "run": RUN % done,
        "queue": "red",
        "params": {"x": [1, 3, 5, 7]},
        "early_stop": {"metric": "loss", "factor": 2},
    }
    api.patiently("POST", "/workloads", json=document)

    def counted() -> Any:
        seen = api.patiently("GET", "/workloads/hpo")
        return seen if seen["stopped_early"] == 3 or seen["ended"] else None

    seen = until(counted)
    outcomes = {gang["params"]["x"]: gang["outcome"] for gang in seen["gangs"]}
    assert outcomes == {"1": None} | dict.fromkeys("357", "stopped_early")
    assert (seen["running"], seen["failed"], seen["state"]) == (1, 0, "RUNNING")
    done.touch()
    ended = until(lambda: (w := api.patiently("GET", "/workloads/hpo"))["ended"] and w)
    assert (ended["state"], ended["succeeded"]) == ("SUCCEEDED", 1)
    assert ended["message"] == "3 of 4 trials were stopped early"
