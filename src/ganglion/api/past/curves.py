"""What attempts used and reported over their time."""

from msgspec import Struct


class CurveView(Struct):
    """One series of one attempt, in at most 301 points.

    Attributes:
        attempt: its number.
        kind: `used` = measured every ten seconds while it ran, by the server; `reported` = by its
            programs.
        name: `gpu_busy_milli`, `gpu_memory_mib`, `power_mw`, `cpu_milli` or `memory_mib` of what
            it used, as in `GET /v1/use`; else as its programs call it.
        times: of its points, in ms.
        steps: of its points, as programs reported them; 0 = none.
        values: of its points; those used are means over the time since the point before.
    """

    attempt: int
    kind: str
    name: str
    times: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


class CurvePage(Struct):
    """The curves of one gang.

    Attributes:
        gang: its id.
        items: by attempt, kind and name; those of attempts whose logs were removed are gone.
    """

    gang: str
    items: tuple[CurveView, ...] = ()
