"""Looks at a workspace on this machine: processes, terminals, its notebook server, its GPUs."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from ganglion.lifecycle.reports.hearing import Activity
from ganglion.lifecycle.workspaces.gpus import GpuReading, gpu_sight
from ganglion.lifecycle.workspaces.kernels import Notebooks, kernel_sight
from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.observations import Sight, Witness
from ganglion.lifecycle.workspaces.processes import Attached, people_sight, process_sight
from ganglion.model.behaviour import Idle
from ganglion.worlds.dcgm import DcgmCounters, DcgmGpus
from ganglion.worlds.jupyter import JupyterProbe
from ganglion.worlds.local.machine import presence
from ganglion.worlds.local.machine.gpu_use import NvmlCounters, NvmlGpus
from ganglion.worlds.local.machine.presence import Total
from ganglion.worlds.local.ranks.env import Gpu
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.leftovers import leaders
from ganglion.worlds.local.run_files.withheld import SecretsGone, credentials_of
from ganglion.worlds.local.workspaces.kept import TOKEN

DCGM_URL = "GANGLION_DCGM_URL"
"""Variable that names a DCGM exporter to ask about this machine's GPUs in place of NVML."""
SHARE = "GANGLION_GPU_MILLI"
"""Variable that pods have which were given a part of a GPU."""


class Gpus(Protocol):
    """Source of the use of devices."""

    def read(self, uuids: Sequence[str], now: int) -> list[GpuReading | None]:
        """One reading per device; None where nothing is known of it."""

    def close(self) -> None:
        """Let go of connections."""


class Speaker(Protocol):
    """An attempt whose programs may report their own activity."""

    @property
    def activity(self) -> Activity:
        """Their reports."""


class LookedAt(Struct, frozen=True):
    """What has to be known of an attempt to look at it.

    Attributes:
        run: its run directory.
        port: where it listens.
        token: what its notebook server wants to see.
        base: path under which that server answers.
        jupyter: whether it is known to be a notebook server.
        uuids: its GPUs; pretended ones, on which nothing can run, are left out.
        shared: whether others compute on them too.
        idle: below what GPUs do nothing.
    """

    run: Path
    port: int
    token: str = ""
    base: str = "/"
    jupyter: bool = False
    uuids: tuple[str, ...] = ()
    shared: bool = False
    idle: Idle = Idle()


def gpus_of(environ: Mapping[str, str] = os.environ) -> Gpus:
    """The source of readings of this machine's GPUs."""
    url = environ.get(DCGM_URL, "")
    return DcgmGpus(url) if url else NvmlGpus()


def counters_of(environ: Mapping[str, str] = os.environ) -> DcgmCounters | NvmlCounters:
    """What says what this machine's GPUs did."""
    url = environ.get(DCGM_URL, "")
    return DcgmCounters(url) if url else NvmlCounters()


class LocalOnlooker:
    """Looks at one attempt; see `ganglion.worlds.onlooker.Onlooker`.

    Args:
        place: the attempt.
        speaker: returns what its programs reported.
        clock: the time in ms.
        gpus: the source of readings of its GPUs.
    """

    def __init__(
        self,
        place: LookedAt,
        speaker: Speaker,
        clock: Callable[[], int],
        gpus: Gpus | None = None,
    ) -> None:
        self._place, self._speaker, self._clock = place, speaker, clock
        self._gpus: Gpus = gpus or gpus_of()
        self._jupyter = JupyterProbe(f"http://127.0.0.1:{place.port}{place.base}", place.token)
        self._is_jupyter, self._tried = place.jupyter, place.jupyter
        self._before: Total | None = None

    @property
    def required(self) -> frozenset[Witness]:
        """Processes and people always, the others where there is something to see."""
        found = {Witness.PROCESSES, Witness.PEOPLE}
        found |= {Witness.KERNELS} if self._is_jupyter else set()
        return frozenset(found | ({Witness.GPU} if self._place.uuids else set()))

    def look(self) -> Look:
        """What can be seen now."""
        now = self._clock()
        total = self._total(now)
        attached = self._attached(total)
        notebooks = self._notebooks(now, attached)
        if self._is_jupyter and attached:  # its kernels say more than connections do
            attached = Attached(attached.at, attached.typed)
        readings = self._gpus.read(self._place.uuids, now) if self._place.uuids else []
        sights = [*self._processes(total, attached, now), *self._program(now)]
        if self._is_jupyter:
            sights.append(kernel_sight(notebooks, now))
        if self._place.uuids:
            shared = self._place.shared
            sights.append(gpu_sight(readings, self._place.idle, now, shared=shared))
        self._before = total
        return Look(now, tuple(sights), _loss(total, notebooks, readings, self._place.shared))

    def close(self) -> None:
        """Let go of connections."""
        self._jupyter.close()
        self._gpus.close()

    def _total(self, now: int) -> Total | None:
        begun = records.glance(self._place.run / records.START)
        try:
            started = leaders(self._place.run) if begun else frozenset()
            return presence.total(begun["pid"], now, started) if begun else None
        except OSError:  # what cannot be read now is unknown
            return None

    def _attached(self, total: Total | None) -> Attached | None:
        if total is None:
            return None
        try:
            return presence.attached(total, self._place.port)
        except OSError:  # a terminal that is not ours to look at
            return None

    def _notebooks(self, now: int, attached: Attached | None) -> Notebooks | None:
        """Ask the notebook server; whatever else listens there is tried once."""
        if not self._tried and attached and attached.listens:
            self._tried = True
            found = self._jupyter.ask(now)
            self._is_jupyter = found is not None
            if found is None:
                self._jupyter.close()  # its own connection must not pass for a user's
            return found
        return self._jupyter.ask(now) if self._is_jupyter else None

    def _processes(
        self, total: Total | None, attached: Attached | None, now: int
    ) -> tuple[Sight, Sight]:
        before = self._before
        usage = presence.usage(before, total) if total else None
        span = now - before.at if before else 0
        return process_sight(usage, now), people_sight(attached, now, span)

    def _program(self, now: int) -> list[Sight]:
        activity = self._speaker.activity
        moved = max(activity.heard, activity.said) if activity.busy is not False else 0
        moved = min(moved, now)
        return [Sight(Witness.PROGRAM, now, now, moved, said="it reported")] if moved else []


def _loss(
    total: Total | None,
    notebooks: Notebooks | None,
    readings: Sequence[GpuReading | None],
    shared: bool,
) -> Loss:
    """What would be gone; unknown for GPUs that others use as well."""
    memory = 0 if shared else sum(each.memory_mib for each in readings if each)
    return Loss(
        len(notebooks.kernels) if notebooks else 0,
        len(total.ttys) if total else 0,
        total.memory_mib if total else 0,
        memory,
    )


def place_of(
    run: Path, spec: records.Record, gpus: Mapping[str, Sequence[Gpu]], idle: Idle
) -> LookedAt:
    """What has to be known of an attempt.

    Args:
        run: its run directory.
        spec: its decoded spec.
        gpus: node name -> its devices in the node's order.
        idle: below what GPUs do nothing.
    """
    facts = spec.get("workspace") or {}
    uuids = (
        gpus[pod["node"]][number].uuid
        for pod in spec["pods"]
        if pod["node"] in gpus
        for number, _ in pod["devices"]
    )
    shared = any(SHARE in rank["env"] for pod in spec["pods"] for rank in pod["ranks"])
    return LookedAt(
        run,
        spec["service_port"],
        facts.get("token") or _token(spec),
        facts.get("base", "/"),
        facts.get("jupyter", False),
        tuple(filter(None, uuids)),
        shared,
        idle,
    )


def _token(spec: records.Record) -> str:
    """What a workspace's Jupyter server wants to see; empty = it is not known any more."""
    try:
        return credentials_of(spec).get(TOKEN, "")
    except SecretsGone:
        return ""
