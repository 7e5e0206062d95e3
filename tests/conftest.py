"""What every test relies on: reproducible hypothesis runs, no network, where traces lie."""

import fcntl
import gc
import ipaddress
import os
import socket
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from ganglion.collector import relax
from ganglion.transport.tls import authorities
from tests.effort import examples
from tests.lean import send_less
from tests.postgres import database, postgres  # noqa: F401 - fixtures for several folders
from tests.programs import helm, kubectl, promtool  # noqa: F401 - the same
from tests.untouched import Shared, changes, untouched
from tests.untouched import shared as shared_now

CONTROL_PLANE = "controlplane"
"""Mark of tests that need the programs of Kubernetes."""

SOURCES = "tools.archlint.source"
"""Module that keeps every parsed file of the project."""

ENOUGH = 4 << 30
"""Bytes that files of tests have room in."""

SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces"


def roomy(folder: Path) -> bool:
    """Whether files of tests have room in a folder, and programs among them may be run."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    spare = found.f_bavail * found.f_frsize
    return spare > ENOUGH and not found.f_flag & os.ST_NOEXEC and os.access(folder, os.W_OK)


# What the engine fails over fails the test; in production it is set apart. Programs that tests
# start inherit this.
os.environ["GANGLION_STRICT"] = "1"

# Hundreds of programs are started: each would compile every module that it imports, which takes
# longer than all else that most of them do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A fifth of what API servers do is to look for garbage, of which they have little.
os.environ.setdefault("GOGC", "400")

# Ledgers sync each cycle, which takes a disk longer than the test; in memory it takes nothing.
IN_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and roomy(IN_MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)

# Machines differ in speed: a slow example is no failure, and the seed is given and printed.
settings.register_profile(
    "ci",
    max_examples=examples(50, nightly=2_000),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", deadline=None)
settings.register_profile("quick", max_examples=20, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one and a half workers per core: for a third of their time tests wait."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the modules of one `xdist_group` in one process.

    pytest-xdist 3.8 writes the group into an attribute that pytest 9.2 no longer reads.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from tests.grouping import ByModule  # noqa: PLC0415 - only where xdist runs

    return ByModule(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks that are set here."""
    config.addinivalue_line("markers", f"{CONTROL_PLANE}: needs programs of Kubernetes")
    send_less(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the programs of Kubernetes: `-m "not controlplane"` leaves it out."""
    for item in items:
        if "control_plane_programs" in getattr(item, "fixturenames", ()):
            item.add_marker(CONTROL_PLANE)


_BEFORE = pytest.StashKey[Shared]()
"""What tests shared before the first test of a module."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Remember what a module finds."""
    module = _module_of(item)
    if _BEFORE not in module.stash:
        module.stash[_BEFORE] = shared_now()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail a module whose fixtures leave changed what it shares with others."""
    yield
    module = _module_of(item)
    if nextitem is None or _module_of(nextitem) is not module:
        _forget_sources(nextitem)
        before = module.stash[_BEFORE]
        del module.stash[_BEFORE]
        found = changes(before, shared_now())
        assert not found, f"{module.nodeid} leaves changed what tests share: {'; '.join(found)}"


def _module_of(item: pytest.Item) -> pytest.Collector:
    found = item.getparent(pytest.Module)
    assert found is not None
    return found


def _forget_sources(coming: pytest.Item | None) -> None:
    """Drop the trees of all modules after the tests that look at them.

    With them a collection of garbage takes most of a second.
    """
    mark = coming and coming.get_closest_marker("xdist_group")
    if not (mark and mark.args == ("sources",)) and SOURCES in sys.modules:
        sys.modules[SOURCES].sources.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector from looking again and again at what all tests consist of.

    Afterwards it collects as rarely as in a server: by default it takes a tenth of all tests.
    """
    gc.disable()
    try:
        with first_come():
            return (yield)
    finally:
        gc.freeze()
        relax()
        gc.enable()


@contextmanager
def first_come() -> Iterator[None]:
    """Where tests are not compiled, let one process do that and the others wait for it."""
    with Path(__file__).open() as own:
        if not (Path(__file__).parent / "worlds" / "__pycache__").exists():
            try:
                fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(own, fcntl.LOCK_SH)
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests did not run for want of these programs."""
    skipped = terminalreporter.stats.get("skipped", [])
    # A module that is skipped as a whole is a report of its collection, which has no keywords.
    if missed := sum(CONTROL_PLANE in getattr(each, "keywords", ()) for each in skipped):
        title = f"{missed} tests on a real Kubernetes API server did not run"
        terminalreporter.section(title, yellow=True, bold=True)
        terminalreporter.write_line("-rs shows why; tests/controlplane/README.md says what to do")


def pytest_report_header(config: pytest.Config) -> str:
    """Say what it takes to repeat this run."""
    profile = os.environ.get("HYPOTHESIS_PROFILE", "dev")
    return f"repeat with: HYPOTHESIS_PROFILE={profile} --hypothesis-seed={_seed(config)}"


def _seed(config: pytest.Config) -> str:
    return str(config.getoption("--hypothesis-seed", default=None) or "random")


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):  # AF_UNIX
        return True
    host = str(address[0])
    if host in {"localhost", ""}:
        return True
    try:
        return ipaddress.ip_address(host.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def nothing_left_changed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves changed what it shares with others of its process."""
    with untouched(request.node.nodeid):
        yield


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Let tests reach this machine and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_frozen_objects() -> Iterator[None]:
    """Leave servers of this process to the collector; what they freeze would outlive their test.

    What `pytest_collection` has frozen stays so, whatever a benchmark thaws: a collection would
    look at all tests again, for most of a second.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("freeze", "unfreeze"):
            patch.setattr(gc, name, lambda: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def copied_ledgers() -> Iterator[None]:
    """Let the migrations make one ledger of this process, if its tests know ledgers."""
    if "ganglion.ledger.ledger" not in sys.modules:
        yield
        return
    from ganglion.seams import connections  # noqa: PLC0415 - imports what the line above asks
    from tests.ledgers import ENGINE, copied, made_by, sharing  # noqa: PLC0415 - the same

    with made_by(copied), pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, ENGINE, sharing)
        yield


@pytest.fixture(autouse=True, scope="session")
def known_authorities() -> Iterator[None]:
    """Read the system's authorities once: some 40 ms of CPU for each client, of HTTP too."""
    contexts: dict[tuple[str | None, ...], ssl.SSLContext] = {}
    original, loaded = httpcore2.default_ssl_context, authorities.loaded

    def kept(whose: str, made: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
        key = (whose, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        if key not in contexts:
            contexts[key] = made()
        return contexts[key]

    def context(*, _trust_env: bool = True) -> ssl.SSLContext:
        return kept(f"clients {_trust_env}", lambda: original(_trust_env=_trust_env))

    def of_machine(path: str) -> ssl.SSLContext:
        return loaded(path) if path else kept("issuers", lambda: loaded(path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", context)
        patch.setattr(authorities, "loaded", of_machine)
        yield


def _guarded(original: Any) -> Any:
    def connect(self: socket.socket, address: Any) -> Any:
        if not _is_local(address):
            raise AssertionError(f"a test tried to reach {address}; only loopback is allowed")
        return original(self, address)

    return connect


@pytest.fixture
def shared() -> Path:
    """The folder with one sub-folder per source of traces; skips where there is none."""
    folder = Path(os.environ.get("GANGLION_TRACES", SHARED))
    if not folder.is_dir():
        pytest.skip(f"no traces in {folder}; set GANGLION_TRACES to the folder that has them")
    return folder
