"""GPUs as NVIDIA's DCGM exporter reports them, in Prometheus' text format.

Read as https://github.com/NVIDIA/dcgm-exporter writes them. Whether a workspace is idle follows
from DCGM_FI_PROF_GR_ENGINE_ACTIVE, which also holds for MIG instances, never from
DCGM_FI_DEV_GPU_UTIL, which says only that some kernel ran and is missing on MIG.
"""

import re
from collections.abc import Iterator, Mapping
from math import isfinite

from ganglion.lifecycle.workspaces.gpus import PER_CENT_MILLI, GpuFigures, GpuReading
from ganglion.model.resources import WHOLE

ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
SENT, RECEIVED = "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"
USED = "DCGM_FI_DEV_FB_USED"
BLANK_32 = range(0x7FFFFFF0, 0x80000000)
"""What DCGM writes for "not available" in 32 bits; in 64 bits and as a fraction it is huge."""
BLANK_64 = 2.0**47

_LINE = re.compile(r"(?P<name>DCGM_\w+)\{(?P<labels>.*)\}\s+(?P<value>\S+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_READ = frozenset({ENGINE, SENT, RECEIVED, USED})
SM, UTILISATION = "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
ENERGY, POWER = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE"
_UNITS: Mapping[str, int] = {SM: 1000, UTILISATION: PER_CENT_MILLI, ENERGY: 1, POWER: 1000}
"""What is to be counted -> thousandths of its unit, or the unit itself, in one of what is said."""
_MOST: Mapping[str, int] = {SM: WHOLE, UTILISATION: WHOLE}

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


_FIELDS: Mapping[str, str] = {
    SM: "sm_milli",
    UTILISATION: "utilised_milli",
    ENERGY: "energy_mj",
    POWER: "power_mw",
}


def figures(text: str) -> dict[Device, GpuFigures]:
    """What an exporter says that can be counted, by device.

    Args:
        text: what it answered.
    """
    found: dict[Device, GpuFigures] = {}
    for device, labels, metric, value in _lines(text, frozenset(_FIELDS)):
        of = found.setdefault(device, GpuFigures())
        amount = round(value * _UNITS[metric])
        if amount <= _MOST.get(metric, amount):
            setattr(of, _FIELDS[metric], amount)
        pod = pod_of(labels)
        if pod[1]:
            of.pods.add(pod)
    return found


def labels_of(text: str) -> dict[str, str]:
    """The labels in a line, or a part of one."""
    return dict(_LABEL.findall(text))


def pod_of(labels: Mapping[str, str]) -> tuple[str, str]:
    """Namespace and name of the pod that uses a device; empty = none is named.

    Prometheus renames the exporter's labels unless it is configured to leave them.
    """
    before = "exported_" if "exported_pod" in labels else ""
    return labels.get(f"{before}namespace", ""), labels.get(f"{before}pod", "")


def _values(text: str) -> Iterator[tuple[Device, str, str, float]]:
    for device, labels, metric, value in _lines(text, _READ):
        yield device, f"GPU {labels.get('gpu', '?')}", metric, value


def _lines(
    text: str, wanted: frozenset[str]
) -> Iterator[tuple[Device, Mapping[str, str], str, float]]:
    """Device, labels, name and value of each line about one of some metrics that makes sense."""
    for line in text.splitlines():
        if line.partition("{")[0] not in wanted:
            continue
        match = _LINE.fullmatch(line)
        value = _number(match["value"]) if match else None
        labels = labels_of(match["labels"]) if match else {}
        if match and "UUID" in labels and value is not None:
            yield (labels["UUID"], labels.get("GPU_I_ID", "")), labels, match["name"], value


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
