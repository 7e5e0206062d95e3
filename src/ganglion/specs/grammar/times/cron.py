"""Cron expressions: five fields, as `0 3 * * mon-fri`."""

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

from ganglion.model.errors import FieldError
from ganglion.specs.grammar.scalars import parse_text
from ganglion.specs.wording import show

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Words that cron knows for common expressions."""

_HINT = "five fields: minute, hour, day, month, weekday; as `0 3 * * mon-fri`"


def parse_cron(value: object) -> str:
    """Read five fields, or one of cron's words as `@daily`; a date has to come some day."""
    text = " ".join(parse_text(value, _HINT).split())
    text = NICKNAMES.get(text.lower(), text)
    if len(text.split(" ")) != 5:
        raise FieldError(f"{show(value)} is not a cron expression", hint=_HINT)
    try:
        next(CronSim(text, datetime(2000, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        problem = f"{show(value)} is not a cron expression: {str(error).lower()}"
        raise FieldError(problem, hint=f"{_HINT}; the day must exist in the month") from None
    except StopIteration:
        problem = f"{show(value)} has no next date: there never is such a day"
        raise FieldError(problem, hint=_HINT) from None
    return text
