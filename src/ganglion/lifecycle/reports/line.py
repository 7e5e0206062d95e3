"""One line of a report file: a JSON object that a program wrote.

    {"checkpoint": {"step": 100, "path": "step-100.pt"}}
    {"metrics": {"step": 100, "loss": 0.3}}
    {"busy": true}

A line may say several of these, and `at`, the time it is about, in ms since 1970. Keys that
are not known are left alone, so that programs may be newer than Ganglion.
"""

import math
import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

LONGEST = 8_192
"""Bytes of a line; longer ones are broken."""
MOST_METRICS = 32
"""Metrics of one line, and of one attempt."""
STEP = "step"

Step = Annotated[int, Meta(ge=0, le=1 << 53)]
_NAME = re.compile(r"[A-Za-z0-9_./@:-]{1,64}")


class SavedCheckpoint(Struct, frozen=True):
    """A checkpoint that is complete.

    Attributes:
        step: of the program's own count; 0 = it does not say.
        path: where it lies: absolute, a URL, or relative to the checkpoint directory.
        rewind: the program went back on purpose, so that a lower step than before is right.
    """

    step: Step = 0
    path: Annotated[str, Meta(max_length=1_024)] = ""
    rewind: bool = False


class ReportLine(Struct, frozen=True):
    """A line that makes sense.

    Attributes:
        checkpoint: that was completed.
        metrics: name -> value, `step` among them; None = the value is not a number.
        busy: whether the program works at something.
        at: the time that all this is about, in ms; None = it does not say.
    """

    checkpoint: SavedCheckpoint | None = None
    metrics: Annotated[dict[str, float | None], Meta(max_length=MOST_METRICS + 1)] | None = None
    busy: bool | None = None
    at: float | None = None

    @property
    def step(self) -> int:
        """The step that the metrics are of; 0 = it does not say."""
        return int((self.metrics or {}).get(STEP) or 0)


_decoder = msgspec.json.Decoder(ReportLine)


def read(text: bytes) -> ReportLine | str:
    """Read a line; a string says what is wrong with it."""
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} bytes"
    try:
        line = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return str(error)
    return _nonsense(line) or line


def _nonsense(line: ReportLine) -> str:
    """What is wrong with a line of the right form; empty = nothing."""
    if line.checkpoint and not all(map(str.isprintable, line.checkpoint.path)):
        return "the path has characters that cannot be printed"
    if line.at is not None and not math.isfinite(line.at):
        return "at is not a time"
    for name, value in (line.metrics or {}).items():
        if not _NAME.fullmatch(name):
            return f"{name[:80]!r} is no name of a metric"
        if value is not None and not math.isfinite(value):
            return f"{name} is not finite"
    step = (line.metrics or {}).get(STEP) or 0
    return "" if 0 <= step <= 1 << 53 else f"step is {step:g}"
