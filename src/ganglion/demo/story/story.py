"""The story: who submits what, what is shown, and what must have happened at the end."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ganglion.api.reasons import Why
from ganglion.api.workloads import WorkloadDetail
from ganglion.demo.story import checks
from ganglion.demo.story.board import Board
from ganglion.demo.story.cast import Document, queues, workloads
from ganglion.demo.story.checks import PromiseCheck
from ganglion.demo.story.lives import SecondHalf
from ganglion.demo.story.scene import ClusterMoment, ClusterWatch
from ganglion.demo.story.stage import DemoServer
from ganglion.model.errors import GanglionError
from ganglion.model.fleet.levels import Level

FILLERS = 6
REPLICAS = 2
RANKS = 4
ENDLESS = ("vision-api", "language-notebook")


class Voices(NamedTuple):
    """How answers are printed; the command line lends its own.

    Attributes:
        why: prints why a workload waits.
        verdict: prints what would become of a document.
    """

    why: Callable[[Why], None]
    verdict: Callable[[Document], None]


class Story:
    """One run of the demo.

    Args:
        stage: the server.
        board: what people see.
        voices: how answers are printed.
    """

    def __init__(self, stage: DemoServer, board: Board, voices: Voices) -> None:
        self._stage = stage
        self.client, self.home = stage.client, stage.home
        self.board, self.voices = board, voices
        self.watch = ClusterWatch(stage.client, board.show)
        self.documents = workloads()
        self.checks: list[PromiseCheck] = []
        self.ids: dict[str, list[str]] = {}

    def play(self) -> Sequence[PromiseCheck]:
        """Play all acts; return what was promised and whether it held."""
        self._teams()
        self._start_everything()
        self._wait()
        self._never()
        self._talk_to_services()
        self._finish()
        self.checks += SecondHalf(self._stage, self.board, self.watch).play()
        return self.checks

    def close(self) -> None:
        """Stop what would run without end."""
        self.board.say("The service and the workspace are stopped.")
        for name in ENDLESS:
            self.client.cancel(self.ids[name][0])
        scene = self.watch.until("they have stopped", lambda scene: _over(scene, ENDLESS))
        states = [f"{name} {scene.of(name).state}" for name in ENDLESS]
        stopped = all(state.endswith("CANCELLED") for state in states)
        self.checks.append(PromiseCheck("services stop when asked", stopped, ", ".join(states)))

    def _teams(self) -> None:
        for name, document in queues().items():
            self.client.set_queue(name, document)
        self.board.say("One organisation, three teams: vision, language and search.")

    def _start_everything(self) -> None:
        # Nothing waits for processes here: places are taken when the server decides, so who
        # gets one does not depend on how fast this machine is.
        self.board.say("Vision trains on two nodes of one rack, two processes on each.")
        self._submit("vision-train")
        self.board.say("A service, a workspace, batch jobs and a sweep want the rest.")
        for name in ("vision-api", "language-notebook", *["search-index"] * FILLERS):
            self._submit(name)
        self._submit("search-tuning")

    def _never(self) -> None:
        name = "language-giant"
        self.board.say("Language asks for nine GPUs on one node. Nodes have eight:")
        self.voices.verdict(self.documents[name])
        reason = self.client.verdict(self.documents[name]).reason
        never = reason is not None and reason.never
        try:
            self._submit(name)
            told = "it was accepted"
        except GanglionError as error:
            told = error.message
        self.board.say(f"Submitted all the same: {told}")
        refused = name not in self.ids
        self.checks.append(
            PromiseCheck("what can never fit is refused immediately", never and refused, told)
        )

    def _wait(self) -> None:
        name = "language-pretrain"
        self.board.say("Language needs two nodes of one rack with six free GPUs each:")
        self._submit(name)
        (ref,) = self.ids[name]
        self.watch.until("its wait is explained", lambda scene: bool(_settled(scene, name)))
        answer = self.client.why(ref)
        waits = [one.reason for one in answer.explanations if one.reason]
        self.voices.why(answer)
        self._wait_for_quota()
        told = waits[0].message if waits else "it did not wait"
        honest = bool(waits) and not waits[0].never
        self.checks.append(PromiseCheck("what must wait has its reason", honest, told))

    def _wait_for_quota(self) -> None:
        (ref,) = self.ids["search-tuning"]
        answer = self.client.why(ref)
        if any(one.reason for one in answer.explanations):
            self.board.say("Search has reached its limit, so its sweep waits for its batch jobs:")
            self.voices.why(answer)

    def _talk_to_services(self) -> None:
        for name, replicas in (("vision-api", REPLICAS), ("language-notebook", 1)):
            (ref,) = self.ids[name]
            self.watch.until(f"{name} listens", self._listening(ref, replicas))
            self.checks.append(checks.http(self.client, ref, replicas))

    def _listening(self, ref: str, replicas: int) -> Callable[[ClusterMoment], bool]:
        return lambda _: checks.answering(self.client, ref, replicas)

    def _finish(self) -> None:
        self.board.say("Now they run to their ends.")
        scene = self.watch.until("all jobs have ended", self._all_over)
        ended = [view for view in scene.workloads if view.name not in ENDLESS]
        bad = [f"{view.id} {view.state}" for view in ended if view.state != "SUCCEEDED"]
        detail = ", ".join(bad) or "no other end than success"
        self.checks.append(PromiseCheck(f"{len(ended)} jobs ended well", not bad, detail))
        self._check_training()
        self.checks.append(checks.sweep(self.client, self._detail("search-tuning")))
        waited = self.client.workload(self.ids["language-pretrain"][0])
        ran = waited.state == "SUCCEEDED" and (waited.started or 0) > waited.submitted
        wait_s = ((waited.started or 0) - waited.submitted) / 1000
        self.checks.append(PromiseCheck("what waited ran", ran, f"after {wait_s:.1f} s"))

    def _check_training(self) -> None:
        detail = self._detail("vision-train")
        placement = detail.gangs[0].placement
        nodes = sorted({pod.node for pod in placement.pods}) if placement else []
        near = placement is not None and placement.level is Level.RACK and len(nodes) == 2
        where = f"{' and '.join(nodes)} in {placement.domain}" if placement else "nowhere"
        self.checks.append(PromiseCheck("training got two nodes of one rack", near, where))
        self.checks += checks.training(self.client, detail, RANKS, self.home)

    def _detail(self, name: str) -> WorkloadDetail:
        return self.client.workload(self.ids[name][0])

    def _all_over(self, scene: ClusterMoment) -> bool:
        return all(view.over for view in scene.workloads if view.name not in ENDLESS)

    def _submit(self, name: str) -> None:
        document = dict(self.documents[name])
        nth = len(self.ids.get(name, ()))
        if name == "search-index":
            document["name"] = f"{name}-{nth + 1}"
        ref = self.client.submit(document).id
        self.ids.setdefault(name, []).append(ref)


def _over(scene: ClusterMoment, names: Sequence[str]) -> bool:
    return all(scene.of(name).over for name in names)


def _settled(scene: ClusterMoment, name: str) -> str:
    """What is known of a workload once the engine has looked at it."""
    view = scene.of(name)
    return view.reason or ("" if view.state == "QUEUED" else view.state)
