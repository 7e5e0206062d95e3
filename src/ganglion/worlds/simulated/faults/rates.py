"""What goes wrong in a simulated cluster: how often, and the dice that decide when."""

from collections.abc import Callable
from random import Random

from msgspec import Struct, structs

from ganglion.model.errors import FieldError
from ganglion.worlds.simulated.units import parse_chance, parse_ms

DAY_MS = 86_400_000


class Faults(Struct, frozen=True):
    """How often things go wrong. Times in ms, chances 0..1; 0 switches a fault off.

    Node and device reports arrive at once and in order, as a watch on them would deliver;
    what is lost, doubled, late and out of order are the reports of gangs.

    Attributes:
        seed: of all dice; the engine has none.
        node_mtbf_ms: mean time between losses of one node (exponential).
        node_mttr_ms: mean time until a lost node is back (exponential).
        device_mtbf_ms: mean time between failures of one device.
        device_mttr_ms: mean time until a failed device is usable again.
        lemons: chance that a node is one that fails more often than the others.
        lemon_factor: how many times as often it does, and its devices do.
        crash_mtbf_ms: mean time between crashes of a program, per pod; it starts again.
        late_start: chance that a start is late.
        late_start_ms: most it is late (uniform).
        start_failure: chance that a start fails.
        lost: chance that a report is lost. A lost start report never arrives; a lost end is
            found by the next reconcile.
        reconcile_ms: how often the world reconciles.
        duplicated: chance that a report arrives twice.
        window_ms: reports are late by up to this much (uniform), so they overtake each other.
    """

    seed: int = 1
    node_mtbf_ms: int = 0
    node_mttr_ms: int = 4 * 3_600_000
    device_mtbf_ms: int = 0
    device_mttr_ms: int = 4 * 3_600_000
    lemons: float = 0.0
    lemon_factor: int = 10
    crash_mtbf_ms: int = 0
    late_start: float = 0.0
    late_start_ms: int = 300_000
    start_failure: float = 0.0
    lost: float = 0.0
    reconcile_ms: int = 60_000
    duplicated: float = 0.0
    window_ms: int = 0


PRESETS: dict[str, Faults] = {
    "none": Faults(),
    # 419 unexpected interruptions in 54 days of 16,384 GPUs on 2,048 nodes
    # ("The Llama 3 Herd of Models", 2024, section 3.3.4): one per node in 264 days
    "light": Faults(node_mtbf_ms=264 * DAY_MS, start_failure=0.002, late_start=0.02),
    "heavy": Faults(
        node_mtbf_ms=10 * DAY_MS,
        device_mtbf_ms=60 * DAY_MS,
        late_start=0.1,
        start_failure=0.02,
        lost=0.05,
        duplicated=0.05,
        window_ms=5_000,
    ),
}
"""Ready-made settings by name."""

KEYS: dict[str, tuple[str, Callable[[str, str], float]]] = {
    "mtbf": ("node_mtbf_ms", parse_ms),
    "mttr": ("node_mttr_ms", parse_ms),
    "device-mtbf": ("device_mtbf_ms", parse_ms),
    "device-mttr": ("device_mttr_ms", parse_ms),
    "lemons": ("lemons", parse_chance),
    "crash-mtbf": ("crash_mtbf_ms", parse_ms),
    "late": ("late_start", parse_chance),
    "late-by": ("late_start_ms", parse_ms),
    "fail": ("start_failure", parse_chance),
    "lost": ("lost", parse_chance),
    "reconcile": ("reconcile_ms", parse_ms),
    "dup": ("duplicated", parse_chance),
    "window": ("window_ms", parse_ms),
}
"""Keys of the text form -> attribute and how its value is read."""


def parse_faults(text: str, seed: int) -> Faults:
    """Read `none`, `light`, `heavy`, or settings such as `heavy,mtbf=30d,fail=1%`.

    Raises:
        FieldError: an unknown word or key, or a value that cannot be used.
    """
    faults = PRESETS["none"]
    for place, word in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        if place == 0 and word in PRESETS:
            faults = PRESETS[word]
        else:
            faults = structs.replace(faults, **_setting(word))
    if faults.start_failure >= 1:
        raise FieldError("nothing would ever start", key="--faults fail", hint="give less than 1")
    return structs.replace(faults, seed=seed)


def _setting(word: str) -> dict[str, float]:
    key, equals, value = word.partition("=")
    if key not in KEYS or not equals:
        known = f"{', '.join(PRESETS)} first, then {', '.join(f'{name}=' for name in KEYS)}"
        raise FieldError(f"unknown fault {word!r}", key="--faults", hint=known)
    attribute, read = KEYS[key]
    return {attribute: read(value, f"--faults {key}")}


class Dice:
    """Seeded draws, one independent stream per purpose.

    A stream of its own for each kind of fault means that switching one on does not change
    when the others strike.

    Args:
        faults: how often.
    """

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._nodes, self._devices, self._starts, self._reports, self._crashes = (
            Random(f"{faults.seed}:{name}")
            for name in ("nodes", "devices", "starts", "reports", "crashes")
        )

    def is_lemon(self, node: str) -> bool:
        """Whether a node fails more often than others; always the same answer."""
        if not self.faults.lemons:
            return False
        return Random(f"{self.faults.seed}:lemon:{node}").random() < self.faults.lemons

    def _times(self, node: str) -> int:
        return self.faults.lemon_factor if self.is_lemon(node) else 1

    def node_up_ms(self, node: str) -> int:
        """How long a node stays; only called with a node MTBF."""
        return _exponential(self._nodes, self.faults.node_mtbf_ms // self._times(node))

    def crash_ms(self, pods: int) -> int:
        """How long a program of that number of pods runs until it crashes; 0 = it never crashes."""
        if not self.faults.crash_mtbf_ms:
            return 0
        return _exponential(self._crashes, self.faults.crash_mtbf_ms // max(pods, 1))

    def node_down_ms(self) -> int:
        """How long a lost node stays away."""
        return _exponential(self._nodes, self.faults.node_mttr_ms)

    def device_up_ms(self, node: str, devices: int) -> int:
        """How long none of a node's `devices` devices fails."""
        often = devices * self._times(node)
        return _exponential(self._devices, self.faults.device_mtbf_ms // often)

    def device_down_ms(self) -> int:
        """How long a failed device stays unusable."""
        return _exponential(self._devices, self.faults.device_mttr_ms)

    def device(self, devices: int) -> int:
        """Which of a node's devices fails."""
        return self._devices.randrange(devices)

    def start_delay_ms(self) -> int:
        """By how much this start is late."""
        if self.faults.late_start and self._starts.random() < self.faults.late_start:
            return self._starts.randrange(self.faults.late_start_ms + 1)
        return 0

    def start_fails(self) -> bool:
        """Whether this start fails."""
        return bool(self.faults.start_failure and self._starts.random() < self.faults.start_failure)

    def is_lost(self) -> bool:
        """Whether this report is lost."""
        return bool(self.faults.lost and self._reports.random() < self.faults.lost)

    def copies(self) -> int:
        """How often this report arrives."""
        doubled = self.faults.duplicated and self._reports.random() < self.faults.duplicated
        return 2 if doubled else 1

    def report_delay_ms(self) -> int:
        """By how much this report is late."""
        window = self.faults.window_ms
        return self._reports.randrange(window + 1) if window else 0

    def reconcile_delay_ms(self, now: int) -> int:
        """Time from `now` to the next reconcile."""
        every = max(self.faults.reconcile_ms, 1)
        return every - now % every


def _exponential(source: Random, mean_ms: int) -> int:
    return 1 + int(source.expovariate(1.0) * mean_ms)
