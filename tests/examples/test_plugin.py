"""The worked example is a real package: it installs, is found, and changes where gangs go."""

import subprocess
import sys
from pathlib import Path

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.extensions import InstalledPlugin, installed, load
from ganglion.model.errors import PluginError
from ganglion.model.events import GangSubmitted, NodeAdded, QueueSet
from ganglion.model.fleet.node import Device, Node
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.specs.cluster.cluster import parse_cluster

ROOT = Path(__file__).resolve().parents[2]
GREEN = Policy(scores=(Weighted("ganglion"), Weighted("green", 1_000_000)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)),
            str(ROOT / "examples" / "plugin"),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return target


@pytest.fixture
def plugin(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example is installed."""
    monkeypatch.syspath_prepend(str(site))


def node_of_the_first_gang(policy: Policy) -> str:
    state = ClusterState(policy, load(policy))
    gpus = (Device("H100"),) * 8
    request = PodRequest(gpu=GpuRequest(count=1))
    plan = cycle(
        state,
        [
            NodeAdded(0, Node("a", 8_000, 1_000, gpus, labels={"power": "coal"})),
            NodeAdded(0, Node("b", 8_000, 1_000, gpus, labels={"power": "green"})),
            QueueSet(0, Queue("default")),
            GangSubmitted(0, Gang("x-1/0", "x-1", "default", pod_sets=(PodSet(request=request),))),
        ],
        now=0,
    )
    return plan.starts[0].placement.pods[0].node


def test_without_the_plugin_the_first_node_by_name_is_taken() -> None:
    assert node_of_the_first_gang(Policy()) == "a"


@pytest.mark.usefixtures("plugin")
def test_with_the_plugin_the_green_node_is_taken() -> None:
    assert node_of_the_first_gang(GREEN) == "b"


@pytest.mark.usefixtures("plugin")
def test_the_plugin_is_found_with_the_package_it_comes_from() -> None:
    assert InstalledPlugin("scores", "green", "ganglion-green") in installed()


def test_a_policy_that_names_a_plugin_that_is_not_installed_says_so() -> None:
    with pytest.raises(PluginError, match="no plugin green"):
        load(GREEN)


def test_the_plugin_is_listed_on_the_command_line(site: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "ganglion", "plugins"],
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    row = next(line for line in listed.stdout.splitlines() if "green" in line)
    assert {"green", "ganglion-green"} <= set(row.split())


def test_the_policy_shown_in_the_documentation_is_the_one_that_is_tested() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    assert parse_cluster(shown).policy == GREEN


def test_the_class_shown_in_the_documentation_is_the_one_that_is_tested() -> None:
    code = (ROOT / "examples" / "plugin" / "ganglion_green.py").read_text("utf-8")
    shown = code[code.index("class GreenScore") :].strip()
    assert shown in (ROOT / "docs" / "plugins.md").read_text("utf-8")
