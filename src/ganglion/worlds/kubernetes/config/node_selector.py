"""Label selectors as on a command line: `pool=canary,gpu in (H100,A100),!spot`."""

import re

from ganglion.model.errors import InputError
from ganglion.worlds.kubernetes.selectors import Selector, in_order
from ganglion.worlds.kubernetes.types.meta import Requirement

_KEY = r"(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9._-]*"
_FORMS = (
    (re.compile(rf"({_KEY})\s*(?:==|=)\s*({_VALUE})"), "In"),
    (re.compile(rf"({_KEY})\s*!=\s*({_VALUE})"), "NotIn"),
    (re.compile(rf"({_KEY})\s+in\s+\(([^()]+)\)"), "In"),
    (re.compile(rf"({_KEY})\s+notin\s+\(([^()]+)\)"), "NotIn"),
    (re.compile(rf"!\s*({_KEY})()"), "DoesNotExist"),
    (re.compile(rf"({_KEY})()"), "Exists"),
)
_COMMA = re.compile(r",(?![^(]*\))")
_ALL_OF_A_VALUE = re.compile(_VALUE)


def parse_selector(text: str) -> Selector:
    """The selector; an empty text selects everything.

    Raises:
        InputError: a part is none; names it.
    """
    parts = [each.strip() for each in _COMMA.split(text)] if text.strip() else []
    return Selector(in_order(_requirement(each) for each in parts))


def _requirement(text: str) -> Requirement:
    for form, operator in _FORMS:
        found = form.fullmatch(text)
        values = tuple(each.strip() for each in found[2].split(",")) if found else ()
        if found and all(_ALL_OF_A_VALUE.fullmatch(each) for each in values):
            takes = operator in ("In", "NotIn")
            return Requirement(found[1], operator, values if takes else ())
    hint = "as pool=gpu, pool!=cpu, gpu in (H100,A100), spot or !spot, with commas between them"
    raise InputError(f"{text!r} is no part of a label selector", hint)
