"""What is asked for a gang, and what of that differs from what was asked before."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from ganglion.model.events import GangUpdated, ReportedImage
from ganglion.model.workload import Gang, PodSet


class GangChange(Struct, frozen=True, omit_defaults=True):
    """One thing that is asked for otherwise than before.

    Attributes:
        name: of what: `priority`, `image`, `pods of main`; in ms where it ends with `_ms`.
        before, after: its values as texts; empty = none, or not known.
    """

    name: str
    before: str = ""
    after: str = ""


class AskedFor(Struct, frozen=True, omit_defaults=True):
    """What of a gang may change while it lives.

    Attributes:
        counts: pods wanted by pod set, of a gang that grows and shrinks.
    """

    priority: int = 0
    queue: str = ""
    time_limit_ms: int = 0
    deadline_ms: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, gang: Gang) -> "AskedFor":
        """What is asked for a gang as it is submitted."""
        elastic = any(each.min_count for each in gang.pod_sets)
        counts = {each.name: each.count for each in gang.pod_sets} if elastic else {}
        return cls(gang.priority, gang.queue, gang.time_limit_ms, gang.deadline_ms, counts)

    def updated(self, event: GangUpdated) -> "AskedFor":
        """The same after an update."""
        return AskedFor(
            self.priority if event.priority is None else event.priority,
            self.queue if event.queue is None else event.queue,
            self.time_limit_ms if event.time_limit_ms is None else event.time_limit_ms,
            self.deadline_ms if event.deadline_ms is None else event.deadline_ms,
            {**self.counts, **event.counts} if event.counts else self.counts,
        )

    def texts(self) -> dict[str, str]:
        """Its parts by name, as texts."""
        return {
            "priority": str(self.priority),
            "queue": self.queue,
            "time_limit_ms": str(self.time_limit_ms or ""),
            "deadline_at": str(self.deadline_ms or ""),
            **{f"pods of {name}": str(count) for name, count in self.counts.items()},
        }


def differing(before: dict[str, str], after: dict[str, str]) -> tuple[GangChange, ...]:
    """What differs between two descriptions."""
    return tuple(
        GangChange(name, before.get(name, ""), after.get(name, ""))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, "") != after.get(name, "")
    )


def described(gang: Gang, image: str) -> dict[str, str]:
    """What is asked for a gang of a cluster, which is submitted anew where it changes."""
    model = {"model": gang.model.uri} if gang.model else {}
    sets = dict(pair for each in gang.pod_sets for pair in _pods(each))
    return {**AskedFor.of(gang).texts(), **sets, "image": image, **model}


def other_images(
    before: Sequence[ReportedImage], now: Sequence[ReportedImage]
) -> tuple[GangChange, ...]:
    """What containers run now that none of that name ran in the attempt before, by digests.

    Args:
        before: of the attempt before; of containers that are not there nothing is known.
        now: what kubelets have said since.
    """
    ran = dict[tuple[str, str], list[str]]()
    for each in before:
        ran.setdefault((each.pod_set, each.container), []).append(each.id)
    found = dict[tuple[str, str, str], GangChange]()
    for each in now:
        known = ran.get((each.pod_set, each.container), [])
        if known and each.id not in known:
            name = f"image that {each.pod_set}/{each.container} runs"
            key = each.pod_set, each.container, each.id
            found[key] = GangChange(name, ", ".join(known), each.id)
    return tuple(found.values())


def _pods(pods: PodSet) -> Iterator[tuple[str, str]]:
    request, gpu = pods.request, pods.request.gpu
    yield (
        f"pods of {pods.name}",
        f"{pods.min_count}..{pods.count}" if pods.min_count else str(pods.count),
    )
    share = f"{gpu.share_mib} MiB" if gpu.share_mib else f"{gpu.milli / 1000:g}"
    gpus = f"{gpu.count:g}" if gpu.milli == 1000 and not gpu.share_mib else f"{gpu.count} x {share}"
    kinds = f" of {', '.join(gpu.types)}" if gpu.types else ""
    yield f"GPUs of each pod of {pods.name}", f"{gpus}{kinds}" if gpu.count else ""
    yield f"CPUs of each pod of {pods.name}", f"{request.cpu_milli / 1000:g}"
    yield f"memory of each pod of {pods.name}", f"{request.memory_mib} MiB"
