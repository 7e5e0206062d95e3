"""Plots as SVG text, styled by the page they stand in."""

from collections.abc import Sequence
from html import escape

from ganglion.worlds.simulated.report.scale import PlotScale

WIDTH, HEIGHT = 860, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 12, 42
INNER = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM, TOP)
"""Left, right, lower and upper border of the plot itself."""

MOST_HOVERS = 160

Point = tuple[float, float]


class Plot:
    """One plot: axes first, then what is drawn on them.

    Args:
        title: what a screen reader says.
        x, y: the axes.
        x_label, y_label: their names, with units.
    """

    def __init__(self, title: str, x: PlotScale, y: PlotScale, x_label: str, y_label: str) -> None:
        self.x, self.y = x, y
        self._title = title
        self._parts: list[str] = []
        self._hovers: list[str] = []
        self._axes(x_label, y_label)

    def area(self, upper: Sequence[Point], lower: Sequence[Point], style: str) -> None:
        """Fill between two lines of points in values."""
        if upper:
            points = [*upper, *reversed(lower)]
            self._parts.append(f'<path class="{style}" d="{self._path(points)}Z"/>')

    def line(self, points: Sequence[Point], style: str) -> None:
        """A line through points in values."""
        if points:
            self._parts.append(f'<path class="line {style}" d="{self._path(points)}"/>')

    def hover(self, left: float, right: float, text: str) -> None:
        """A full-height strip between two x values that says `text` under the pointer."""
        start, end = self.x(left), self.x(right)
        self._hovers.append(
            f'<rect class="hover" x="{start}" y="{TOP}" width="{max(end - start, 0.1):.1f}"'
            f' height="{HEIGHT - BOTTOM - TOP}"><title>{escape(text)}</title></rect>'
        )

    def render(self) -> str:
        """The whole SVG element."""
        body = "\n".join([*self._parts, *self._hovers])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            f' aria-label="{escape(self._title)}">\n{body}\n</svg>'
        )

    def _path(self, points: Sequence[Point]) -> str:
        return "M" + "L".join(f"{self.x(a)},{self.y(b)}" for a, b in points)

    def _axes(self, x_label: str, y_label: str) -> None:
        left, right, lower, upper = INNER
        for value, label in self.y.ticks:
            at = self.y(value)
            self._parts.append(f'<path class="grid" d="M{left},{at}H{right}"/>')
            self._text(left - 8, at + 4, label, "end")
        for value, label in self.x.ticks:
            at = self.x(value)
            self._parts.append(f'<path class="tick" d="M{at},{lower}v5"/>')
            self._text(at, lower + 18, label, "middle")
        self._parts.append(f'<path class="axis" d="M{left},{lower}H{right}"/>')
        self._text(right, HEIGHT - 6, x_label, "end", "label")
        middle = (lower + upper) / 2
        self._parts.append(
            f'<text class="label" transform="translate(13,{middle:g}) rotate(-90)"'
            f' text-anchor="middle">{escape(y_label)}</text>'
        )

    def _text(self, x: float, y: float, text: str, anchor: str, style: str = "number") -> None:
        self._parts.append(
            f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )


def steps(values: Sequence[float], width: float, end: float) -> list[Point]:
    """A step line: `values` hold for `width` each, the last one until `end`."""
    points: list[Point] = []
    for place, value in enumerate(values):
        points += [(place * width, value), (min((place + 1) * width, end), value)]
    return points
