"""How services scale: targets of signals, paces, ratios, sources of metrics."""

import re

from ganglion.model.behaviour import Pace, Signal, Target
from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_decimal, parse_text, parse_whole
from ganglion.specs.grammar.times.durations import parse_duration, print_duration
from ganglion.specs.grammar.words import one_of
from ganglion.specs.wording import show

SECONDS = (Signal.TTFT, Signal.ITL, Signal.LATENCY)
"""Signals that are lengths of time."""

SIGNAL_ALIASES = {
    "num_requests": "requests",
    "in_flight": "requests",
    "queue_depth": "waiting",
    "kv_cache_usage": "kv_cache",
    "time_to_first_token": "ttft",
    "inter_token_latency": "itl",
    "tpot": "itl",
}
MOST = 1_000_000_000
MOST_MILLI = 1_000_000_000_000
SOURCES = ("router", "metrics")
"""Sources of metrics that have names; any other is the URL of a Prometheus."""

_PACE = re.compile(r"(?:([0-9]{1,9})\s*)?(?:(?:or\s*)?([0-9]{1,6})\s*%\s*)?(?:/\s*(\S.*))?")
_PACE_HINT = "write replicas or a part in a time, as `4/15s`, `50%/1m` or `4 or 100%/15s`"
_TARGET_HINT = "write what one replica should have, as `{requests: 8, kv_cache: 80%, ttft: 500ms}`"

_signal = one_of(tuple(Signal), SIGNAL_ALIASES)


def parse_targets(value: object) -> tuple[Target, ...]:
    """Read signal -> what one replica should have of it, as `{requests: 8, ttft: 500ms}`."""
    if not isinstance(value, dict) or not value:
        raise FieldError(f"expected signals and targets, found {show(value)}", hint=_TARGET_HINT)
    found: dict[Signal, Target] = {}
    for name, each in value.items():
        signal = _signal_of(name)
        if signal in found:
            raise FieldError(f"the signal {show(signal.value)} is given twice", key=str(name))
        found[signal] = _target(signal, each)
    return tuple(found[signal] for signal in Signal if signal in found)


def _signal_of(name: object) -> Signal:
    try:
        return Signal(_signal(name))
    except FieldError as error:
        raise FieldError(error.problem, key=str(name), hint=error.hint) from None


def _target(signal: Signal, value: object) -> Target:
    try:
        milli = _milli(signal, value)
    except FieldError as error:
        raise FieldError(error.problem, key=signal, hint=error.hint) from None
    if not milli:
        raise FieldError("nothing can meet a target of zero", key=signal, hint=_TARGET_HINT)
    if milli > MOST_MILLI:
        raise FieldError(f"{show(value)} is too large", key=signal)
    return Target(signal, milli)


def _milli(signal: Signal, value: object) -> int:
    if signal in SECONDS:
        return parse_duration(value)
    return parse_milli(value, "a target", _TARGET_HINT)


def print_targets(targets: tuple[Target, ...]) -> dict[str, str | int]:
    """Print as `{requests: 8, kv_cache: "0.8"}`."""
    return {
        each.signal.value: print_duration(each.milli)
        if each.signal in SECONDS
        else print_milli(each.milli)
        for each in targets
    }


def parse_milli(value: object, what: str, hint: str) -> int:
    """Read a number or percentage that is not negative into thousandths."""
    text = parse_text(value, hint).strip()
    is_share = text.endswith("%") and not isinstance(value, bool)
    number = parse_decimal(text[:-1].strip() if is_share else value, what, hint)
    milli = number * (10 if is_share else 1_000)
    if milli.denominator != 1:
        raise FieldError(f"{show(value)} is finer than a thousandth", hint=hint)
    return int(milli)


def print_milli(milli: int) -> str | int:
    """Print thousandths as `8` or `0.8`."""
    whole, rest = divmod(milli, 1_000)
    return f"{whole}.{rest:03}".rstrip("0") if rest else whole


def parse_ratio(value: object) -> int:
    """Read how many times, more than 1 and at most 1000, into thousandths: `2`, `1.5`, `200%`."""
    hint = "write how many times, as `2`"
    milli = parse_milli(value, "a ratio", hint)
    if not 1_000 < milli <= MOST // 1_000:
        raise FieldError(f"{show(value)} is not between 1 and 1000", hint=hint)
    return milli


def parse_pace(value: object) -> Pace:
    """Read `4/15s`, `50%/1m`, `4 or 100%/15s`, or `any`."""
    text = parse_text(value, _PACE_HINT).strip().lower()
    if text in ("any", "unlimited"):
        return Pace(0, 0, 0)
    match = _PACE.fullmatch(text)
    if isinstance(value, bool) or not match or not (match[1] or match[2]):
        raise FieldError(f"{show(value)} is not a pace", hint=_PACE_HINT)
    if match[3] is None:
        raise FieldError(f"{show(value)} does not say in which time", hint=_PACE_HINT)
    per_ms = parse_duration(match[3])
    count = parse_whole(match[1] or "0", 0, MOST)
    percent = parse_whole(match[2] or "0", 0, MOST)
    if not per_ms or not (count or percent):
        raise FieldError(f"{show(value)} lets nothing happen for ever", hint=_PACE_HINT)
    return Pace(count, percent, per_ms)


def print_pace(pace: Pace) -> str:
    """Print as `4 or 100%/15s`."""
    if not pace.per_ms:
        return "any"
    parts = [str(pace.count)] * bool(pace.count) + [f"{pace.percent}%"] * bool(pace.percent)
    return f"{' or '.join(parts)}/{print_duration(pace.per_ms)}"


def parse_source(value: object) -> str:
    """Read `router`, `metrics`, or the URL of a Prometheus."""
    text = parse_text(value).strip()
    if text.lower() in SOURCES:
        return text.lower()
    if re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        return text.rstrip("/")
    hint = "use `router`, `metrics`, or the URL of a Prometheus, as `http://prometheus:9090`"
    raise FieldError(f"{show(value)} is no source of metrics", hint=hint)
