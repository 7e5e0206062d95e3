"""Scenarios as read, and what came of them."""

from enum import StrEnum

from msgspec import Struct, field

from ganglion.specs.reading.yaml import Data, Document, Path


class Kind(StrEnum):
    """Whose words a scenario is written in."""

    KAI = "kai"
    KUEUE = "kueue"


class Scenario(Struct, frozen=True):
    """One scenario, its content not yet checked.

    Attributes:
        id: unique in its file.
        kind: whose words it uses.
        section: key of the file under which it stands, as `scenarios`.
        data: what the file says about it.
        path: where in the file that stands.
        document: the whole file, for what its scenarios share and for line numbers.
    """

    id: str
    kind: Kind
    section: str
    data: Data
    path: Path
    document: Document

    @property
    def tier(self) -> str:
        """How binding its expectation is; the name of its section where it does not say."""
        return str(self.data.get("tier", self.section))

    @property
    def about(self) -> str:
        """What it is about, in one line."""
        for key in ("title", "describe"):
            if text := self.data.get(key):
                return " ".join(str(text).split())
        return ""


class Result(Struct, frozen=True):
    """What came of one scenario.

    Attributes:
        id: of the scenario.
        tier: how binding its expectation is, as the file says.
        passed: whether the outcome is the one that is expected.
        difference: what is different; empty when passed.
        deviation: why we differ on purpose; empty = no deviation is listed.
        figures: further numbers, by name.
    """

    id: str
    tier: str
    passed: bool
    difference: str = ""
    deviation: str = ""
    figures: dict[str, int] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """`pass`, `deviation` or `fail`."""
        if self.passed:
            return "pass"
        return "deviation" if self.deviation else "fail"
