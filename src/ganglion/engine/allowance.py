"""How much a decision may cost, counted in searches: the engine reads no clock."""


class Exhausted(BaseException):
    """A trial has used up its allowance; the copy of the state that it ran on is of no use.

    It is no error of a gang or an event, so what isolates those must let it pass.
    """


class Allowance:
    """Counts searches for a place.

    Attributes:
        spent: searches so far.
        most: searches after which `Exhausted` is raised; None = there is no end.
    """

    def __init__(self) -> None:
        self.spent = 0
        self.most: int | None = None

    def spend(self, searches: int = 1) -> None:
        """Count searches. Raises Exhausted beyond the allowance."""
        self.spent += searches
        if self.most is not None and self.spent > self.most:
            raise Exhausted
