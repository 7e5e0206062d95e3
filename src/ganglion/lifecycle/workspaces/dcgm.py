"""GPUs as NVIDIA's DCGM exporter reports them, in Prometheus' text format.

Read as https://github.com/NVIDIA/dcgm-exporter writes them: engine activity from
DCGM_FI_PROF_GR_ENGINE_ACTIVE, which also holds for MIG instances, never from
DCGM_FI_DEV_GPU_UTIL, which says only that some kernel ran and is missing on MIG.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite

from ganglion.lifecycle.workspaces.gpus import GpuReading

ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
SENT, RECEIVED = "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"
USED = "DCGM_FI_DEV_FB_USED"
BLANK_32 = range(0x7FFFFFF0, 0x80000000)
"""What DCGM writes for "not available" in 32 bits; in 64 bits and as a fraction it is huge."""
BLANK_64 = 2.0**47

_LINE = re.compile(r"(?P<name>DCGM_\w+)\{(?P<labels>.*)\}\s+(?P<value>\S+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_READ = frozenset({ENGINE, SENT, RECEIVED, USED})

Device = tuple[str, str]
"""UUID of a GPU, and id of a MIG instance on it; the latter empty for a whole GPU."""


def readings(text: str, at: int, span_ms: int) -> dict[Device, GpuReading]:
    """Every device that an exporter reports.

    Args:
        text: what it answered.
        at: when it was asked, in ms.
        span_ms: how long its values are averaged over: the time between two of its looks.
    """
    found: dict[Device, dict[str, float]] = {}
    names: dict[Device, str] = {}
    for device, name, metric, value in _values(text):
        found.setdefault(device, {})[metric] = value
        names[device] = name
    return {
        device: _reading(values, names[device], at, span_ms) for device, values in found.items()
    }


def _values(text: str) -> Iterator[tuple[Device, str, str, float]]:
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match["name"] not in _READ:
            continue
        labels = dict(_LABEL.findall(match["labels"]))
        value = _number(match["value"])
        if "UUID" in labels and value is not None:
            device = (labels["UUID"], labels.get("GPU_I_ID", ""))
            yield device, f"GPU {labels.get('gpu', '?')}", match["name"], value


def _number(text: str) -> float | None:
    """A value; None where it means "not available" or is no number."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    blank = int(value) in BLANK_32 if value < BLANK_64 else True
    return None if blank or value < 0 else value


def _reading(values: Mapping[str, float], name: str, at: int, span_ms: int) -> GpuReading:
    engine, moved = values.get(ENGINE), None
    if SENT in values and RECEIVED in values:
        moved = round(values[SENT] + values[RECEIVED])
    return GpuReading(
        at,
        span_ms,
        None if engine is None else round(engine * 1000),
        moved,
        round(values.get(USED, 0)),
        name,
    )
