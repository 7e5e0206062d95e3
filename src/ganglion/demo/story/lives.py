"""The second half: services, workspaces, sweeps and training through their lives."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2

from ganglion.api.workloads import GangView, WorkloadDetail
from ganglion.demo.story.board import Board
from ganglion.demo.story.callers import LoadCallers
from ganglion.demo.story.cast import workloads
from ganglion.demo.story.checks import PromiseCheck, log
from ganglion.demo.story.scene import ClusterMoment, ClusterWatch
from ganglion.demo.story.stage import DemoServer

MOST, FEWEST = 4, 1
"""Replicas of the service with many callers and with one."""
CALLERS = 12
PAUSE_S = 0.3
"""How long a request takes."""
OWN = 2
"""Trials of the sweep that run no matter which other gangs wait."""
PLAIN = ("node-0", "node-1")
ENOUGH = 10
"""Steps that have to be safe before anything happens to a training."""

_SAVED = re.compile(r"stopped on request and saved at step (\d+)")
_BEGAN = re.compile(r"starts at step (\d+)")


class SecondHalf:
    """One run of the second half.

    Args:
        stage: the server.
        board: what people see.
        watch: looks at the server.
    """

    def __init__(self, stage: DemoServer, board: Board, watch: ClusterWatch) -> None:
        self.client, self.home = stage.client, stage.home
        self.board, self.watch = board, watch
        self.documents = workloads("lives.yaml")
        self.ids: dict[str, str] = {}

    def play(self) -> list[PromiseCheck]:
        """Play all acts; return what was promised and whether it held."""
        self._submit("language-lab")
        checks = [self._preempted()]
        checks.append(self._asleep())
        checks.append(self._node_lost())
        checks.append(self._served())
        checks.append(self._resumed())
        checks.append(self._widened())
        self._close()
        return checks

    def _preempted(self) -> PromiseCheck:
        name = "language-tuning"
        self.board.say("A training of low priority starts in the fast rack...")
        for node in PLAIN:
            self.client.cordon(node, "kept free for a moment")
        self._submit(name)
        self.watch.until("it has a place", lambda scene: bool(scene.where(self.ids[name])))
        for node in PLAIN:
            self.client.uncordon(node)
        self.watch.until("it has saved", lambda _: self._saved(name) >= ENOUGH)
        before = self._nodes(name)
        self.board.say("...and has to leave it for urgent work, once it has saved.")
        self._submit("language-hotfix")
        self._ended(name, "language-hotfix")
        return self._moved(name, before)

    def _moved(self, name: str, before: set[str]) -> PromiseCheck:
        detail, after = self._detail(name), self._nodes(name)
        told = _SAVED.findall(log(self.client, detail.id, index=0, previous=True))
        began = _BEGAN.findall(log(self.client, detail.id, index=0))
        lost = detail.gangs[0].lost_gpu_ms
        ends = {self._state(each) for each in (name, "language-hotfix")}
        same = bool(told) and told == began
        held = same and not before & after and ends == {"SUCCEEDED"}
        where = f"{_listed(before)} to {_listed(after)}"
        text = f"saved at {_steps(told)}, went on at {_steps(began)}, from {where}"
        return PromiseCheck(
            "a preempted training goes on from its checkpoint, elsewhere",
            held,
            f"{text}; {lost / 1000:.1f} GPU-seconds lost",
        )

    def _node_lost(self) -> PromiseCheck:
        name = "vision-survivor"
        self.board.say("A node is taken away under a training:")
        self._submit(name)
        self.watch.until("it has saved", lambda _: self._saved(name) >= ENOUGH)
        saved, before = self._saved(name), self._nodes(name)
        gone = min(before)
        with _away(self.home, gone):
            self._ended(name)
        began = _BEGAN.findall(log(self.client, self.ids[name], index=0))
        after = self._nodes(name)
        held = self._state(name) == "SUCCEEDED" and gone not in after
        held = held and bool(began) and int(began[0]) >= saved
        text = f"{gone} lost, saved step {saved}, went on at {_steps(began)} on {_listed(after)}"
        return PromiseCheck("a training survives the loss of a node", held, text)

    def _served(self) -> PromiseCheck:
        name = "vision-shop"
        self.board.say(f"A service gets {CALLERS} callers at once, then one:")
        self._submit(name)
        self.watch.until("it listens", lambda _: self._replicas(name) >= FEWEST)
        url = f"{self._detail(name).url}predict?seed=1&pause={PAUSE_S}"
        with LoadCallers(url, FEWEST) as calm:
            with LoadCallers(url, CALLERS) as crowd:
                self.watch.until("it has grown", lambda _: self._replicas(name) == MOST)
            self.watch.until("it has shrunk", lambda scene: self._shrunk(scene, name))
        failures = [*calm.failures, *crowd.failures]
        asked = sum(calm.answers.values()) + sum(crowd.answers.values()) + len(failures)
        text = failures[0] if failures else f"1 to {MOST} to 1 replicas, {asked} requests"
        return PromiseCheck(
            "a service follows its load and fails no request", bool(asked) and not failures, text
        )

    def _shrunk(self, scene: ClusterMoment, name: str) -> bool:
        return len(_live(self._detail(name).gangs)) == FEWEST and bool(scene.where(self.ids[name]))

    def _asleep(self) -> PromiseCheck:
        name = "language-lab"
        self.board.say("The workspace that is not used is suspended:")
        scene = self.watch.until(
            "it sleeps", lambda scene: scene.of(name).state == "SUSPENDED" and self._is_gone(name)
        )
        view, held = scene.of(name), scene.where(self.ids[name])
        return PromiseCheck("an idle workspace gives its GPU back", not held, view.message or "")

    def _is_gone(self, name: str) -> bool:
        return self._detail(name).gangs[0].phase == "pending"

    def _resumed(self) -> PromiseCheck:
        name = "language-lab"
        self.board.say("A user opens its address, and it comes back:")
        url, page = self._detail(name).url, {"Accept": "text/html"}  # as a browser asks
        answer = httpx2.get(url, headers=page, timeout=60.0, trust_env=False)
        attempt = self._detail(name).gangs[0].attempt
        held = answer.is_success and attempt > 1
        said = answer.json().get("ganglion_gang", "") if answer.is_success else answer.text
        return PromiseCheck(
            "a suspended workspace comes back at its address",
            held,
            f"{said} answered, attempt {attempt}",
        )

    def _widened(self) -> PromiseCheck:
        name = "search-wide"
        self.board.say(f"A sweep of {OWN} trials at a time uses the GPUs that are free:")
        self._submit(name)
        peak = 0

        def over(scene: ClusterMoment) -> bool:
            nonlocal peak
            peak = max(peak, len(scene.where(self.ids[name])) and self._running(name))
            return scene.of(name).over

        self.watch.until("it has ended", over)
        state = self._state(name)
        held = peak > OWN and state == "SUCCEEDED"
        return PromiseCheck(
            "a sweep widens into idle GPUs", held, f"{peak} trials at once, {state}"
        )

    def _running(self, name: str) -> int:
        gangs = self._detail(name).gangs
        return sum(each.phase in ("starting", "running") for each in gangs)

    def _close(self) -> None:
        for name in ("vision-shop", "language-lab"):
            self.client.cancel(self.ids[name])
        self._ended("vision-shop", "language-lab")

    def _submit(self, name: str) -> None:
        self.ids[name] = self.client.submit(self.documents[name]).id

    def _detail(self, name: str) -> WorkloadDetail:
        return self.client.workload(self.ids[name])

    def _state(self, name: str) -> str:
        return self._detail(name).state

    def _saved(self, name: str) -> int:
        """The step that is safe; 0 = none is."""
        saved = self._detail(name).gangs[0].saved
        return saved.step if saved else 0

    def _nodes(self, name: str) -> set[str]:
        placement = self._detail(name).gangs[0].placement
        return {pod.node for pod in placement.pods} if placement else set()

    def _replicas(self, name: str) -> int:
        """Replicas that listen."""
        gangs = self._detail(name).gangs
        return sum(each.phase == "running" and bool(each.endpoint) for each in gangs)

    def _ended(self, *names: str) -> None:
        what = f"{' and '.join(names)} ended"
        self.watch.until(what, lambda scene: all(scene.of(name).over for name in names))


@contextmanager
def _away(home: Path, node: str) -> Iterator[None]:
    """A pretend node is lost for as long as a file of its name is there."""
    mark = home / "outages" / node
    mark.parent.mkdir(mode=0o700, exist_ok=True)
    mark.touch()
    try:
        yield
    finally:
        mark.unlink()


def _live(gangs: Sequence[GangView]) -> list[GangView]:
    return [each for each in gangs if each.phase != "ended"]


def _steps(found: list[str]) -> str:
    return f"step {found[0]}" if found else "no step"


def _listed(nodes: set[str]) -> str:
    return " and ".join(sorted(nodes)) or "nowhere"
