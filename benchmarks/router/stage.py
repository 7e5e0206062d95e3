"""What a measurement of the router needs: replicas in processes, and a router that is fed."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import psutil

from benchmarks.router import replica as router_replica
from ganglion.model.errors import EnvironmentFault
from ganglion.router import record
from ganglion.router.balancing.stats import ReplicaStats
from ganglion.router.balancing.table import Limits, ReplicaEndpoint, RoutedService, RoutingState
from ganglion.router.link import RouterLink

NAME = "bench"
POLL_S = 0.002


class Replica:
    """A process that serves.

    Args:
        name: its name in the table.
        process: the process.
        port: where it listens.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int) -> None:
        self.name, self._process = name, process
        self.address = f"127.0.0.1:{port}"

    async def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        await self._process.wait()

    async def end(self) -> None:
        """Tell it to end, and wait until it has."""
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()


class RouterStage:
    """A service of several replicas behind a router.

    Args:
        link: feeds the router.
        router: its process.
        limits: of the service.
    """

    def __init__(self, link: RouterLink, router: psutil.Process, limits: Limits) -> None:
        self._link, self._router, self._limits = link, router, limits
        self._numbers = count()
        self.replicas: dict[str, Replica] = {}
        self._draining: set[str] = set()

    @property
    def url(self) -> str:
        """Where the service is reached through the router."""
        return f"{self._link.url}/{NAME}"

    def cpu_s(self) -> float:
        """Processor time the router has used, in seconds."""
        used = self._router.cpu_times()
        return float(used.user + used.system)

    async def grow(self) -> Replica:
        """One replica more; returns when the router sends it requests."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", router_replica.__file__, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout
        said = (await process.stdout.readline()).strip()
        if not said.isdigit():
            raise EnvironmentFault("a replica for the measurement did not start")
        replica = Replica(f"{NAME}/{next(self._numbers)}", process, int(said))
        self.replicas[replica.name] = replica
        await self._published()
        while not self._told(replica.name).ready:
            await asyncio.sleep(POLL_S)
        return replica

    async def shrink(self, replica: Replica) -> None:
        """Drain a replica, then end it."""
        self._draining.add(replica.name)
        await self._published()
        while self._told(replica.name).running:
            await asyncio.sleep(POLL_S)
        del self.replicas[replica.name]
        await asyncio.gather(self._published(), replica.end())

    async def lose(self, replica: Replica) -> None:
        """Kill a replica; the router finds out by itself, the table learns of it afterwards."""
        await replica.kill()
        del self.replicas[replica.name]
        await self._published()

    async def close(self) -> None:
        """End all replicas."""
        await asyncio.gather(*(each.end() for each in self.replicas.values()))

    async def _published(self) -> None:
        version = self._link.publish([self._service()])
        while self._link.reading().stats.version < version:
            await asyncio.sleep(POLL_S)

    def _service(self) -> RoutedService:
        endpoints = (
            ReplicaEndpoint(
                each.name,
                each.address,
                RoutingState.DRAINING if each.name in self._draining else RoutingState.STARTING,
            )
            for each in self.replicas.values()
        )
        return RoutedService(NAME, tuple(endpoints), self._limits)

    def _told(self, name: str) -> ReplicaStats:
        services = self._link.reading().stats.services
        told = (each for service in services for each in service.replicas if each.replica == name)
        return next(told, ReplicaStats(name))


@asynccontextmanager
async def router_stage(limits: Limits | None = None) -> AsyncIterator[RouterStage]:
    """A router in a process of its own, in a home of its own, without replicas yet."""
    with tempfile.TemporaryDirectory(prefix="ganglion-router-") as folder:
        home = Path(folder)
        link = RouterLink(home, port=0)
        await asyncio.to_thread(link.start)
        found = record.read(home)
        if found is None:
            raise EnvironmentFault("the router is gone")
        stage = RouterStage(link, psutil.Process(found.pid), limits or Limits())
        try:
            yield stage
        finally:
            await stage.close()
            await asyncio.to_thread(link.stop, router=True)
