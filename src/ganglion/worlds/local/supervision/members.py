"""The pods of one attempt and their processes, as they come and go; standard library only."""

import contextlib
import signal
import time
from pathlib import Path

from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.withheld import SecretsGone, credentials_of
from ganglion.worlds.local.supervision.children import Children
from ganglion.worlds.local.supervision.processes import (
    CANNOT_RUN,
    Process,
    StartError,
    note_started,
)
from ganglion.worlds.local.supervision.terminals import with_terminal


class Members:
    """The pods that belong to an attempt.

    An order to run on other pods is a whole list of pods with a number. Pods left out are asked
    to stop and have their grace; when all of them are gone, `left.json` says up to which order.

    Args:
        run: the run directory.
        spec: the decoded `spec.json`.
        children: what processes are started by.
    """

    def __init__(self, run: Path, spec: Record, children: Children) -> None:
        self._run, self._spec, self._children = run, spec, children
        self._resumed: dict[str, str] = {}
        self._roster: list[Record] = spec["pods"]
        self._of: dict[str, list[Process]] = {}
        self._ready: set[str] = set()
        self._setups: dict[str, Process] = {}
        self._leaving: list[tuple[int, Process, float]] = []
        self._asked: set[int] = set()
        self._order = self._told = 0

    @property
    def processes(self) -> list[Process]:
        """Those of pods that belong to the attempt."""
        return [process for each in self._of.values() for process in each]

    @property
    def present(self) -> list[Process]:
        """Also those of pods that were asked to leave."""
        return [*self.processes, *(process for _, process, _ in self._leaving)]

    @property
    def filled(self) -> bool:
        """Whether every pod that belongs to the attempt was started."""
        return all(pod["id"] in self._of for pod in self._roster)

    @property
    def leaving(self) -> bool:
        """Whether any pod still has to leave."""
        return bool(self._leaving)

    @property
    def last_kill(self) -> float:
        """Monotonic time at which the last pod that leaves is killed; 0 = none leaves."""
        return max((kill_at for *_, kill_at in self._leaving), default=0.0)

    # --- start ----------------------------------------------------------------------------

    def resume(self, variables: dict[str, str]) -> None:
        """Give every process the place where the attempt goes on."""
        self._resumed = variables

    def begin_setups(self) -> None:
        """Start the setup of every pod that has one."""
        self._ready = {pod["id"] for pod in self._roster}
        for pod in self._roster:
            if pod["setup"]:
                self._of[pod["id"]] = [self._spawn(pod, pod["ranks"][0], pod["setup"])]

    def end_setups(self) -> None:
        """All of them ended well."""
        self._of.clear()

    def fill(self) -> None:
        """Start what belongs to the attempt and does not run: ranks, or first a setup.

        Raises:
            StartError: a command or directory is missing.
            OSError: the machine refuses.
        """
        for pod in self._roster:
            key, setup = pod["id"], self._setups.get(pod["id"])
            if setup and setup.code == 0:
                self._ready.add(key)
                del self._setups[key], self._of[key]
            if key in self._of:
                continue
            if pod["setup"] and key not in self._ready:
                self._setups[key] = self._spawn(pod, pod["ranks"][0], pod["setup"])
                self._of[key] = [self._setups[key]]
            else:
                self._of[key] = []
                for rank in pod["ranks"]:
                    self._of[key].append(self._spawn(pod, rank, rank["argv"]))

    def _spawn(self, pod: Record, rank: Record, argv: list[str]) -> Process:
        env = self._environment(rank)
        log = Path(self._spec["log_dir"]) / f"rank-{rank['rank']}.log"
        start = with_terminal if rank.get("tty") and argv is rank["argv"] else Process
        workdir, umask = pod["workdir"], self._spec.get("umask", -1)
        process = start(rank["rank"], argv, env, workdir, log, self._children, umask)
        # On a full disk it runs all the same: what it leaves is found by its environment too.
        with contextlib.suppress(OSError):
            note_started(self._run, process.pid)
        return process

    def _environment(self, rank: Record) -> dict[str, str]:
        """The whole environment of a rank."""
        try:
            secrets = credentials_of(self._spec)
        except SecretsGone as error:
            raise StartError(str(error), CANNOT_RUN) from None
        env: dict[str, str] = self._spec["env"] | secrets | rank["env"] | self._resumed
        return env

    def place(self, pod: int, rank: int | None) -> tuple[dict[str, str], str] | None:
        """Environment and directory of a rank of a pod that was started; None = there is none.

        Args:
            pod: number of the pod.
            rank: number of the rank; None = the pod's first.

        Raises:
            StartError: its secrets are gone.
        """
        found = next((each for each in self._roster if each["number"] == pod), None)
        if found is None or found["id"] not in self._of:
            return None
        ranks = [each for each in found["ranks"] if rank in (None, each["rank"])]
        if not ranks:
            return None
        return self._environment(ranks[0]), found["workdir"]

    # --- change ---------------------------------------------------------------------------

    def replace(self, failed: Process) -> None:
        """End what is left of a rank's pod, so that `fill` starts the pod again."""
        key = next(key for key, processes in self._of.items() if failed in processes)
        number = next(pod["number"] for pod in self._roster if pod["id"] == key)
        self._setups.pop(key, None)
        for process in self._of.pop(key):
            process.signal(signal.SIGKILL)
            self._leaving.append((number, process, 0.0))

    def heed(self) -> None:
        """Take in an order to run on other pods: those left out are asked to stop."""
        order = records.glance(self._run / records.RESIZE)
        if not order or order["seq"] <= self._order:
            return
        wanted = {pod["id"] for pod in order["pods"]}
        for pod in self._roster:
            if pod["id"] not in wanted:
                self._drop(self._of.pop(pod["id"], []), pod["number"])
                self._setups.pop(pod["id"], None)
                self._ready.discard(pod["id"])
        self._order, self._roster = order["seq"], order["pods"]

    def _drop(self, processes: list[Process], number: int) -> None:
        kill_at = time.monotonic() + self._spec["grace_ms"] / 1000
        for process in processes:
            process.signal(self._spec["signal"])
            process.signal(signal.SIGCONT)
            self._leaving.append((number, process, kill_at))

    def tend(self, *, hurry: bool = False) -> None:
        """Kill pods whose grace is over, and say when all that were asked to leave are gone.

        Args:
            hurry: leave them no more grace.
        """
        if hurry:
            self._leaving = [(number, process, 0.0) for number, process, _ in self._leaving]
        self._leaving = [each for each in self._leaving if self._lives(*each)]
        if not self._leaving and self._told < self._order:
            with contextlib.suppress(OSError):  # tried again at the next look
                records.write(self._run / records.LEFT, {"seq": self._order} | records.stamp())
                self._told = self._order

    def _lives(self, number: int, process: Process, kill_at: float) -> bool:
        """Whether anything of a pod that leaves is left; kills it when its grace is over."""
        late = time.monotonic() >= kill_at
        try:
            left = self._strays(number)
        except OSError:  # not readable now: nothing is known to have left
            return True
        for pid in left if late else left - self._asked:
            self._children.signal(pid, signal.SIGKILL if late else signal.SIGTERM)
        self._asked |= left
        if late:
            process.signal(signal.SIGKILL)
        return process.group_lives() or bool(left)

    def _strays(self, number: int) -> set[int]:
        """Processes of a pod that have left their group, unless another pod has its number."""
        if any(pod["number"] == number for pod in self._roster):
            return set()
        mark = f"GANGLION_NODE_RANK={number}"
        return self._children.all(mark) - {each.pid for each in self.present}
