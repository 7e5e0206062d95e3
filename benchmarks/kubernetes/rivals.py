"""Schedulers measured on the same API server: kube-scheduler as it comes, kube-scheduler tuned, us.

kube-scheduler's configuration: https://kubernetes.io/docs/reference/scheduling/config/.
"""

import sys
from typing import Any

from msgspec import Struct

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.flags import write_yaml
from benchmarks.controlplane.programs import Process
from benchmarks.kubernetes.field import GPU
from ganglion.worlds.kubernetes.names import SCHEDULER

BARE = "bare"
"""No scheduler: the client that creates a pod binds it. No scheduler can be faster."""

_KUBE = "kube-scheduler"


class Rival(Struct, frozen=True):
    """One scheduler under one configuration.

    Attributes:
        name: on the command line and in figures.
        scheduler: `schedulerName` of the pods it gets.
        profile: of kube-scheduler: what differs from its default; None = another program.
        tuned: fields of kube-scheduler's configuration that differ.
            gates: feature gates of kube-scheduler and of the API server; a contender with some gets
                gangs as objects of Kubernetes' own, and is measured with gangs only.
    """

    name: str
    scheduler: str
    profile: dict[str, Any] | None = None
    tuned: dict[str, Any] = {}
    gates: tuple[str, ...] = ()

    def start(self, plane: ControlPlane) -> Process:
        """Start it as a process of its own.

        Raises:
            EnvironmentFault: its program is missing.
        """
        if self.profile is None:
            config = str(plane.kubeconfig())
            flags = ["--kubeconfig", config, "--no-lease", "--listen", "127.0.0.1:0"]
            return plane.run(self.name, [sys.executable, "-m", "ganglion", "scheduler", *flags])
        path = write_yaml(plane.folder / f"{self.name}.yaml", self._config(plane))
        flags = [f"--config={path}", "--secure-port=0"]
        if self.gates:
            flags.append(f"--feature-gates={','.join(self.gates)}")
        return plane.run(self.name, [*plane.programs.command(_KUBE), *flags])

    def _config(self, plane: ControlPlane) -> dict[str, Any]:
        """A configuration without a limit on requests: 50 a second is the default."""
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {
                "kubeconfig": str(plane.kubeconfig()),
                "qps": 10000,
                "burst": 10000,
            },
            "profiles": [{"schedulerName": self.scheduler, **(self.profile or {})}],
            **self.tuned,
        }


_LEAN: dict[str, Any] = {
    "plugins": {
        "preScore": {"disabled": [{"name": "*"}]},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]},
    },
    "pluginConfig": [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": GPU, "weight": 1}],
                }
            },
        }
    ],
}
"""The least that still packs GPUs: one score, looked at on one node in twenty."""

RIVALS = {
    rival.name: rival
    for rival in (
        Rival(BARE, BARE),
        Rival(_KUBE, "default-scheduler", {}),
        Rival(
            f"{_KUBE}-lean",
            "default-scheduler",
            _LEAN,
            {"percentageOfNodesToScore": 5, "parallelism": 2},
        ),
        Rival(
            f"{_KUBE}-gangs",
            "default-scheduler",
            {},
            gates=("GenericWorkload=true", "GangScheduling=true"),
        ),
        Rival(SCHEDULER, SCHEDULER),
    )
}
"""Name -> contender, in the order in which they are shown."""
