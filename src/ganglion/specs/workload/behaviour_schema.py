"""Sections of a workload file on its behaviour: scaling, idleness, searches, schedules."""

from ganglion.model.behaviour import LONG_WAIT_MS, EarlyStop, Idle, Scaling, Standby, Target
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, described

DEFAULT = Scaling()
IDLE = Idle()
STANDBY = Standby()


class StandbyFile(Mapping):
    """Replicas that sleep on GPUs which others may use meanwhile."""

    replicas: f.Count = described("how many", STANDBY.replicas)
    notice: f.Duration = described(
        "time that borrowers of the GPUs have to save and leave", STANDBY.notice_ms
    )


class HintFile(Mapping):
    """Load that is known beforehand."""

    cron: f.Cron = described("when it begins: five fields, as `0 8 * * mon-fri`")
    lasts: f.Duration = described("how long")
    replicas: f.Count = described("fewest replicas meanwhile")
    zone: f.Zone = described("time zone of `cron`", "UTC")


class ScaleFile(Mapping):
    """How many replicas a service has, between the ends of `replicas`."""

    targets: f.Targets = described(
        "signal -> what one replica should have: requests, waiting, running, kv_cache, tokens, "
        "ttft, itl, latency, query",
        (Target(),),
    )
    source: f.Source = described(
        "source of metrics: router, metrics (of the replicas), or the URL of a Prometheus",
        DEFAULT.source,
    )
    query: f.Text = described("what to ask a Prometheus, for the target `query`", "")
    path: f.Text = described("where replicas serve their metrics", DEFAULT.path)
    window: f.Duration = described("load is averaged over this time", DEFAULT.window_ms)
    panic_window: f.Duration = described("a burst shows within this time", DEFAULT.panic_window_ms)
    panic: f.Ratio = described(
        "a burst asks for this multiple of the replicas that are ready", DEFAULT.panic_milli
    )
    up: f.PaceOf = described("how fast replicas may come: `4/15s`, `4 or 100%/15s`", DEFAULT.up)
    down: f.PaceOf = described("how fast they may go: `50%/1m`, `any`", DEFAULT.down)
    hold_down: f.Duration = described(
        "only replicas that were too many for this time go; with start_within they fade",
        DEFAULT.hold_down_ms,
    )
    zero_after: f.Duration = described(
        "where 0 replicas are allowed, the last goes after this time without a request",
        DEFAULT.idle_ms,
    )
    cold_start: f.Duration = described("from a start to the first answer; left out = learnt", 0)
    start_within: f.Duration = described("target time until a request begins", 0)
    on_time: f.Share = described("share of the requests that should", DEFAULT.start_milli)
    hints: tuple[HintFile, ...] = described("load that is known beforehand", ())
    drain: f.Duration = described(
        "how long a replica may finish its requests before it is stopped", DEFAULT.drain_ms
    )
    standby: StandbyFile | None = described("replicas that sleep on lent GPUs", None)
    affinity: f.Text = described("header of requests that names the model they want", "")


class IdleFile(Mapping):
    """How a workspace is found idle."""

    warn: f.Duration = described(
        "time between the warning of its user and the suspension", IDLE.warn_ms
    )
    gpu: f.Share = described("a GPU busy for less of the time does nothing", IDLE.gpu_milli)
    traffic: f.Amount = described(
        "the same for bytes a second that move over PCIe", IDLE.bytes_per_s
    )
    hours: f.HoursOf | None = described(
        "working hours, as `mon-fri 08:00-20:00 Europe/Berlin`; outside of them it is suspended "
        "sooner",
        None,
    )
    save: f.Text = described("shell text run in the workspace before it is suspended", "")


class SearchFile(Mapping):
    """Trials drawn from all combinations of `params`."""

    trials: f.Count = described("how many")
    seed: f.Amount = described("the same seed draws the same trials", 0)


class EarlyStopFile(Mapping):
    """Trials that do worse than others are stopped before their end."""

    metric: f.Text = described("what trials report, by name")
    goal: f.Goal = described("min or max", "min")
    first: f.Count = described("step at which trials are compared first", EarlyStop("").first)
    factor: f.Count = described(
        "reduction factor N: one in N goes on, to N times the steps", EarlyStop("").factor
    )


class ScheduleFile(Mapping):
    """It is submitted again and again."""

    cron: f.Cron = described("when: five fields, as `0 3 * * *`")
    zone: f.Zone = described("time zone of `cron`", "UTC")
    overlap: f.OverlapOf = described(
        "while the one before still lives: forbid, allow or replace", "forbid"
    )
    keep: f.Duration = described(
        "a date missed for longer is left out; left out = it is made up for", 0
    )


class NotifyFile(Mapping):
    """Whom to notify of what happens to it."""

    on: f.Happenings = described(
        "events to report: end, failure, start, preemption, budget, waiting", ("end",)
    )
    mail: f.Addresses = described("mail addresses", ())
    command: f.Text = described("shell line that the server runs, if its owner allows that", "")
    webhook: f.Webhooks = described("URLs that are sent JSON, or secret:NAME of one", ())
    signing_key: f.SecretReference = described(
        "secret:NAME of the key that signs what webhooks are sent", ""
    )
    waiting: f.Patience = described(
        "with `waiting` in `on`: how long it waits before that is reported", LONG_WAIT_MS
    )
