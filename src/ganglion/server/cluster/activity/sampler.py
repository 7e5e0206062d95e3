"""Asks the exporters of nodes where gangs hold GPUs, again and again, in a thread of its own."""

import asyncio
import threading

import structlog

from ganglion.lifecycle.workspaces.dcgm import figures
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.server.cluster.activity.exporters import answers, exporters
from ganglion.server.cluster.activity.looks import HeldGpus, Said, held_gpus, looks
from ganglion.server.cluster.activity.sums import EVERY_S, GpuSums
from ganglion.worlds.kubernetes.scheduler import Scheduler

log = structlog.get_logger(__name__)


class GpuSampler:
    """Has GPUs looked at while its scheduler leads.

    Args:
        scheduler: knows which gang holds what.
        sums: gets what exporters say.
        clock: says when they were asked.

    Attributes:
        silent: URLs of exporters that did not answer last time.
    """

    def __init__(self, scheduler: Scheduler, sums: GpuSums, clock: Clock = SYSTEM_CLOCK) -> None:
        self._scheduler, self._sums, self._clock = scheduler, sums, clock
        self.silent: frozenset[str] = frozenset()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="activity", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a look that is under way is in no sum."""
        self._ending.set()

    def _run(self) -> None:
        while not self._ending.wait(EVERY_S):
            try:
                self.sample()
            except Exception:
                # What exporters say must not end this: meanwhile it is unknown what GPUs do.
                log.exception("GPUs were not looked at")

    def sample(self) -> None:
        """Look once, if the scheduler leads and knows its clusters."""
        if not (self._scheduler.ready.is_set() and self._scheduler.leads()):
            return
        asked = self._clock.now_ms(), self._clock.monotonic()
        held, urls = self._seen()
        self._sums.look(asked, looks(held, self._said(urls)))

    def _seen(self) -> tuple[list[HeldGpus], dict[str, list[str]]]:
        """What is held where there are exporters, and these; nodes are named as the engine does."""
        with self._scheduler.read() as controller:
            sites = controller.scene.sites.values()
            pods = [(site.prefix, list(site.pods.values())) for site in sites]
        urls = {prefix + name: of for prefix, own in pods for name, of in exporters(own).items()}
        if not urls:
            return [], {}
        with self._scheduler.read() as controller:
            held = [each for each in held_gpus(controller.scene) if each.node in urls]
        return held, {each.node: urls[each.node] for each in held}

    def _said(self, urls: dict[str, list[str]]) -> dict[str, Said]:
        """What exporters say, by node; the first of a node counts where two name a device."""
        every = [each for of in urls.values() for each in of]
        # Those that were silent come last, so that they do not take the time of others.
        texts = asyncio.run(answers(sorted(every, key=self.silent.__contains__))) if every else {}
        silent = frozenset(every) - texts.keys()
        if silent - self.silent:
            log.warning("exporters do not answer", urls=sorted(silent - self.silent))
        self.silent = silent
        said = dict[str, Said]()
        for node, of in urls.items():
            for url in reversed(of):
                if url in texts:
                    said[node] = {**said.get(node, {}), **figures(texts[url])}
        return said
