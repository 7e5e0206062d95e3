"""Usage over a period.

GPU time is in GPU-microseconds: thousandths of a GPU times milliseconds, so that it is an integer
and every sum is exact. 3,600,000,000 of them are one GPU-hour.
"""

from msgspec import Struct, field

from ganglion.api.page import Page


class UsageRow(Struct, gc=False):
    """Usage of one group; what is not grouped by is empty.

    Attributes:
        queue: leaf queue that was charged.
        user: who submitted the work.
        workload: its id.
        flavor: kind of node.
        day: date in UTC.
        kind: of the workload.
        held_gpu_us: GPU time that attempts kept from others, from their placement to their end.
        requested_gpu_us: the same without pods that were asked to leave and had not left.
        attempts: attempts that were placed in the period.
        cost_micro: what was held costs, by the prices that are known now.
        list_micro: the same by the prices for all kinds of workloads.
        corrected_micro: the part of it that came by prices which were set afterwards.
        idle_micro: this group's share of what idle GPUs cost: that of a flavor is shared in
            proportion to what was held of it; 0 unless `fleet` is given.
        unpriced_gpu_us: GPU time held that has no price, and no part in the cost.
        active_gpu_us: GPU time in which GPUs that attempts had alone were active; None = unknown.
        sampled_gpu_us: the GPU time held for which that is known.
        active_by: what said so: `nvml` and `dcgm-util`: some kernel ran; `dcgm-sm`: multiprocessors
            were active; several are joined by `+`; empty = nothing did.
        energy_mj: what these GPUs drew, in thousandths of a joule; None = unknown.
        energy_gpu_us: the GPU time held for which that is known.
        energy_by: what said so: `nvml` and `dcgm`: a counter; `dcgm-power`: power times time;
            several are joined by `+`; empty = nothing did.
        lost_gpu_us: GPU time held whose work was thrown away, since that is known; None = unknown.
        useful_gpu_us: GPU time in which GPUs were active and work was not thrown away, since that
            is known; None = unknown.
    """

    queue: str = ""
    user: str = ""
    workload: str = ""
    flavor: str = ""
    day: str = ""
    kind: str = ""
    held_gpu_us: int = 0
    requested_gpu_us: int = 0
    attempts: int = 0
    cost_micro: int = 0
    list_micro: int = 0
    corrected_micro: int = 0
    idle_micro: int = 0
    unpriced_gpu_us: int = 0
    active_gpu_us: int | None = None
    sampled_gpu_us: int = 0
    active_by: str = ""
    energy_mj: int | None = None
    energy_gpu_us: int = 0
    energy_by: str = ""
    lost_gpu_us: int | None = None
    useful_gpu_us: int | None = None


class FlavorUsage(Struct):
    """All GPUs of one flavor over the period: held + idle + unavailable = capacity.

    In money, charged + discount + idle + unavailable = capacity, by the prices for all kinds of
    workloads.

    Attributes:
        flavor: its name.
        capacity_gpu_us: GPU time that there was.
        held_gpu_us: held by attempts.
        idle_gpu_us: held by none, although attempts might have started there.
        unavailable_gpu_us: held by none, as the node was cordoned or lost, or the GPU was sick.
        capacity_micro, idle_micro, unavailable_micro: what these cost.
        charged_micro: what was held costs its users.
        discount_micro: how much more it costs without prices of kinds; below 0 = less.
        unpriced_gpu_us: GPU time held that has no price.
    """

    flavor: str
    capacity_gpu_us: int = 0
    held_gpu_us: int = 0
    idle_gpu_us: int = 0
    unavailable_gpu_us: int = 0
    capacity_micro: int = 0
    charged_micro: int = 0
    discount_micro: int = 0
    idle_micro: int = 0
    unavailable_micro: int = 0
    unpriced_gpu_us: int = 0


class CorrectionView(Struct):
    """What a price that was set afterwards changed of the cost of the period.

    Attributes:
        number: of the price; `GET /prices:history` has it.
        at: when it was set, in ms.
        flavor: what it is a price of.
        change_micro: added to the cost; below 0 = taken off.
    """

    number: int
    at: int
    flavor: str
    change_micro: int


class LentRow(Struct):
    """What one queue lent and borrowed; among the queues of one parent both add up to the same.

    Attributes:
        queue: its name; not only leaves have quota.
        parent: what it lies under now; empty = nothing, or it is gone.
        lent_gpu_us: GPU time of its quota that others of its parent used while it did not.
        borrowed_gpu_us: GPU time that it used of the quota of others of its parent.
    """

    queue: str
    parent: str = ""
    lent_gpu_us: int = 0
    borrowed_gpu_us: int = 0


class UsagePage(Page):
    """Usage over a period, sorted by what it is grouped by.

    Attributes:
        since, until: the period, in ms.
        metered_since: since when there are figures, in ms; None = there are none yet.
        items: the groups.
        total: all groups together, those on other pages included.
        fleet: by flavor; None = the caller may not see the whole fleet, or asked for some queues.
        currency: of all money, which is in millionths; empty = there are no prices.
        corrections: by prices that were set after the time they are about, oldest first.
        lent: by queue, those that neither lent nor borrowed anything left out; not of clusters.
        lost_since: since when it is known which work was thrown away, in ms; None = it is not.
        guessed: flavors of clusters with parts of GPUs that count as whole ones now, as it is
            unknown which part they are.
    """

    since: int
    until: int
    metered_since: int | None = None
    items: tuple[UsageRow, ...] = ()
    total: UsageRow = field(default_factory=UsageRow)
    fleet: tuple[FlavorUsage, ...] | None = None
    currency: str = ""
    corrections: tuple[CorrectionView, ...] = ()
    lent: tuple[LentRow, ...] = ()
    lost_since: int | None = None
    guessed: tuple[str, ...] = ()
