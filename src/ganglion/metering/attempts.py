"""Attempts that hold something, as a meter knows them."""

from typing import NamedTuple

from msgspec import Struct, field

from ganglion.metering.intervals import LostSpan, UsageInterval
from ganglion.model import events as ev
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang


class HeldPlace(NamedTuple):
    """An attempt that holds its place when metering begins.

    Attributes:
        gang: whose attempt it is.
        attempt: its number.
        wanted: pods that go on.
        leaving: pods that were asked to leave and are still there.
    """

    gang: Gang
    attempt: int
    wanted: tuple[PodPlacement, ...]
    leaving: tuple[PodPlacement, ...]


class NodeShare(Struct, frozen=True):
    """What an attempt holds on one node; see `UsageInterval`."""

    flavor: str
    requested_milli: int = 0
    held_milli: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0


class OpenUsage(Struct):
    """What an attempt holds on one node since a time in ms; `devices`: its GPUs, as text.

    Until `sampled`, a time in ms, it is in the ledger what these did, as far as a cluster said so.

    Its GPUs change with its share and not otherwise: new ones come beside the old ones, which are
    held until they are left.
    """

    since: int
    share: NodeShare
    begun: bool = False
    devices: str = ""
    sampled: int = 0


class MeteredAttempt(Struct):
    """An attempt that holds something.

    Attributes:
        gang, workload, queue, user, kind: as of `UsageInterval`.
        attempt: its number.
        pods: pod set -> (thousandths of cores, MiB of host memory) of each of its pods.
        wanted: its pods that go on.
        leaving: its pods that were asked to leave and are still there.
        open: node -> what it holds there.
        begun: whether an interval says that it was placed.
        ahead_of: as of `UsageInterval`.
        placed: when it was, in ms; 0 = before metering began, or an early version metered that.
        gpu_milli: thousandths of devices of its last place, of whatever part of a GPU they are;
            0 = unknown, likewise.
    """

    gang: str
    workload: str
    queue: str
    user: str
    kind: str
    attempt: int
    pods: dict[str, tuple[int, int]]
    wanted: tuple[PodPlacement, ...] = ()
    leaving: tuple[PodPlacement, ...] = ()
    open: dict[str, OpenUsage] = field(default_factory=dict)
    begun: bool = False
    ahead_of: str = ""
    placed: int = 0
    gpu_milli: int = 0

    def interval(self, node: str, found: OpenUsage, end: int) -> UsageInterval | None:
        """What it has held on a node until now; None = for no time, and it is not its first."""
        if end <= found.since and not found.begun:
            return None
        share = found.share
        return UsageInterval(
            begin_ms=found.since,
            end_ms=end,
            queue=self.queue,
            user=self.user,
            workload=self.workload,
            gang=self.gang,
            attempt=self.attempt,
            kind=self.kind,
            flavor=share.flavor,
            node=node,
            requested_milli=share.requested_milli,
            held_milli=share.held_milli,
            cpu_milli=share.cpu_milli,
            memory_mib=share.memory_mib,
            begun=found.begun,
            devices=found.devices,
            ahead_of=self.ahead_of,
        )

    def lost(self, event: ev.GangEnded, now: int) -> LostSpan | None:
        """The last part of it, whose work was thrown away; None = none was.

        The event has GPU time, of the devices of the last place: so it follows since when.

        Args:
            event: its end.
            now: until when its place is held, in ms.
        """
        if not event.lost_gpu_ms:
            return None
        pods = (*self.wanted, *self.leaving)
        milli = self.gpu_milli or sum(len(pod.devices) * pod.milli for pod in pods)
        if not milli:
            return None
        end = min(event.at, now)
        begin = max(end - -(-event.lost_gpu_ms * WHOLE // milli), self.placed)
        return LostSpan(begin, end, self.workload, self.gang, self.attempt) if begin < end else None
