"""Fixtures with a real API server; a `conftest.py` imports those that its tests use."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache, partial

import pytest
from tests.controlplane.build import MODULES, PINNED, built, programs
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.proxy import Proxy

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.flags import Options
from benchmarks.controlplane.programs import Programs
from ganglion.model.errors import EnvironmentFault

MANAGER = "kube-controller-manager"

# Every conftest that imports the fixture has one of its own; they share what the first started.
_running: list[ControlPlane] = []


@pytest.fixture(scope="session")
def control_plane_programs(request: pytest.FixtureRequest) -> Programs:
    """The binaries; skips where there are none."""
    try:
        return programs(partial(_say, request))
    except EnvironmentFault as fault:
        pytest.skip(f"{fault.message}: {fault.hint}")


def _say(request: pytest.FixtureRequest, text: str) -> None:
    screen = request.config.pluginmanager.get_plugin("terminalreporter")
    if screen:
        screen.ensure_newline()
        screen.write_line(text)


@pytest.fixture(scope="session")
def control_plane(control_plane_programs: Programs) -> Iterator[ControlPlane]:
    """One API server for all tests of this process."""
    if _running:
        yield _running[0]
        return
    with ControlPlane(control_plane_programs) as plane:
        _running.append(plane)
        yield plane
        _running.clear()


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """The API server without anything in it; what a test makes is gone after it."""
    with ExitStack() as left:
        left.callback(control_plane.wipe)
        client = Cluster(control_plane)
        left.callback(client.close)
        client.wait(lambda: _is_empty(client), "no pods of an earlier test")
        yield client


def _is_empty(client: Cluster) -> bool:
    """Whether no pods are there; a controller's last request may end after its pods were wiped."""
    if not client.list("/api/v1/pods"):
        return True
    client.plane.wipe()
    return False


@pytest.fixture
def manager(control_plane: ControlPlane) -> Iterator[None]:
    """kube-controller-manager beside it: Jobs, garbage collection, service accounts."""
    if not control_plane.programs.has(MANAGER):
        pytest.skip(f"{control_plane.programs.path} has no {MANAGER}")
    control_plane.launch(MANAGER)
    yield
    control_plane.end(MANAGER)


@pytest.fixture
def another_cluster(control_plane_programs: Programs) -> Iterator[Callable[[Options], Cluster]]:
    """A way to API servers of a test's own, with feature gates or to be broken."""
    with ExitStack() as left:

        def start(options: Options) -> Cluster:
            plane = left.enter_context(ControlPlane(control_plane_programs, options))
            client = Cluster(plane)
            left.callback(client.close)
            return client

        yield start


@pytest.fixture(scope="module")
def planes() -> Iterator[Callable[[Programs, Options], ControlPlane]]:
    """A way to API servers that tests of one module share; starting one takes 4 CPU seconds."""
    with ExitStack() as left:

        @cache
        def start(found: Programs, options: Options) -> ControlPlane:
            return left.enter_context(ControlPlane(found, options))

        yield start


@pytest.fixture(params=MODULES)
def each_minor(
    request: pytest.FixtureRequest,
    control_plane_programs: Programs,
    planes: Callable[[Programs, Options], ControlPlane],
) -> Iterator[Callable[[Mapping[str, Options]], Cluster]]:
    """A way to an API server of each minor version, in turn, with options of its own.

    Tests of one module share those with equal options; what a test makes is gone after it.
    Versions that were not built, or that no options are given for, are skipped.
    """
    minor: str = request.param
    with ExitStack() as left:

        def start(options: Mapping[str, Options]) -> Cluster:
            if minor not in options:
                pytest.skip(f"Kubernetes {minor} does not have it")
            found = control_plane_programs if minor == PINNED else _built(request, minor)
            plane = planes(found, options[minor])
            left.callback(plane.wipe)
            for name in (MANAGER, "kube-scheduler"):
                left.callback(plane.end, name)
            client = Cluster(plane)
            left.callback(client.close)
            return client

        yield start


def _built(request: pytest.FixtureRequest, minor: str) -> Programs:
    try:
        return built(minor)
    except EnvironmentFault as fault:
        _say(request, f"{fault.message}: {fault.hint}")
        pytest.skip(f"{fault.message}: {fault.hint}")


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    """A proxy before the API server that makes trouble on request."""
    running = Proxy(control_plane).start()
    yield running
    running.stop()


@pytest.fixture
def kubelets(cluster: Cluster) -> Iterator[Kubelets]:
    """A thread that plays the kubelets of all nodes."""
    running = Kubelets(cluster.plane).start()
    yield running
    running.stop()
