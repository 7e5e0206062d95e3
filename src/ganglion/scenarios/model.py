"""Scenarios as read, and the result of one."""

from collections.abc import Callable

from msgspec import Struct, field

from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.reading.yaml import Data, Document, Path


class Scenario(Struct, frozen=True):
    """One scenario, its content not yet checked.

    Attributes:
        id: unique in its file.
        form: whose words it uses.
        section: key of the file under which it stands, as `scenarios`.
        data: what the file says about it.
        path: where in the file that stands.
        document: the whole file, for what its scenarios share and for line numbers.
    """

    id: str
    form: "Format"
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
    """The result of one scenario.

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


class Format(Struct, frozen=True):
    """A way to write scenarios.

    Attributes:
        name: as lists show it.
        key: a scenario that has this key is written so.
        run: plays one under a policy; raises FieldError where its content makes no sense.
    """

    name: str
    key: str
    run: Callable[[Scenario, PolicyFile], Result]
