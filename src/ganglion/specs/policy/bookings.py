"""Bookings as people write them: nodes by name or by domain, times or a length."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Annotated

from ganglion.model.errors import FieldError
from ganglion.model.fleet.booking import Booking
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.specs.grammar.lists import parse_texts
from ganglion.specs.grammar.names import parse_host, parse_queue
from ganglion.specs.grammar.places import parse_level
from ganglion.specs.grammar.times.instants import parse_instant, print_instant
from ganglion.specs.reading import fields as f
from ganglion.specs.reading.mapping import Mapping, as_read, described
from ganglion.specs.reading.renaming import Renaming, Vocabulary
from ganglion.specs.reading.validate import Wrong, validate
from ganglion.specs.reading.yaml import Data, Document, Path
from ganglion.specs.wording import first_of, listed, meant, show

Domain = tuple[Level, str]


def parse_domains(value: object) -> tuple[Domain, ...]:
    """Read `rack=r1`, a list of such texts, or a mapping of level to name or names."""
    if isinstance(value, dict):
        return tuple(
            (parse_level(level), parse_host(name))
            for level, names in value.items()
            for name in parse_texts(names)
        )
    return tuple(_domain(each) for each in parse_texts(value))


def _domain(text: str) -> Domain:
    level, equals, name = text.partition("=")
    if not equals:
        raise FieldError(f"{show(text)} is not a domain", hint="write it as `rack=r1`")
    return parse_level(level.strip()), parse_host(name.strip())


Instant = Annotated[int, f.told(parse_instant), f.schema("string")]
Hosts = Annotated[
    tuple[str, ...],
    f.told(lambda value: tuple(parse_host(each) for each in parse_texts(value))),
    f.schema("array", "string"),
]
Queues = Annotated[
    tuple[str, ...],
    f.told(lambda v: tuple(parse_queue(each).rpartition("/")[2] for each in parse_texts(v))),
    f.schema("array", "string"),
]
Domains = Annotated[
    tuple[Domain, ...], f.told(parse_domains), f.schema("array", "string", "object")
]


class BookingFile(Mapping):
    """Nodes that are kept for some queues and users, or for none, from one time to another."""

    name: f.Name = described("unique among the bookings")
    nodes: Hosts = described("names of nodes", ())
    within: Domains = described("every node of these domains: `rack=r1`, `{rack: [r1, r2]}`", ())
    begin: Instant = described("when it begins: `2026-12-01T08:00Z`; UTC where it says no offset")
    end: Instant | None = described("when it ends; or say how long", None)
    length: f.Duration | None = described("how long it lasts: `4h`", None)
    queues: Queues = described(
        "queues whose gangs may use the nodes meanwhile; left out = none: maintenance", ()
    )
    users: f.Texts = described("only these users of those queues; left out = all of them", ())
    reason: f.Text = described("for people", "")
    clears: f.Flag = described(
        "gangs on the nodes leave after a checkpoint and are stopped when it begins", False
    )


ALIASES = {
    "from": "begin",
    "start": "begin",
    "to": "end",
    "until": "end",
    "for": "length",
    "duration": "length",
    "in": "within",
    "domains": "within",
    "node": "nodes",
    "queue": "queues",
    "user": "users",
}
"""Other names of the keys of a booking."""


VOCABULARY = Vocabulary({"": tuple(BookingFile.model_fields)}, {"": ALIASES}, {})


def parse_booking(data: Data) -> tuple[BookingFile, Wrong]:
    """Check one booking that was decoded already, as the body of a request.

    Returns:
        The booking and what makes an error of problem, canonical path and hint.

    Raises:
        FieldError: a key or value is wrong.
    """
    renaming = Renaming(Document(data), VOCABULARY)
    rules = [lambda file, wrong: contradictions(file, (), wrong)]
    return validate(BookingFile, renaming.known(), renaming, rules), renaming.wrong


def contradictions(file: BookingFile, path: Path, wrong: Wrong) -> Iterator[FieldError]:
    """Yield what is wrong between the keys of a booking that lies at `path`."""
    for rule in (_places, _users, _ends):
        yield from as_read(rule(file, path, wrong))


def _places(file: BookingFile, path: Path, wrong: Wrong) -> Iterator[FieldError]:
    if not file.nodes and not file.within:
        yield wrong("names no nodes", path, "as `nodes: [n1, n2]` or `within: rack=r1`")


def _users(file: BookingFile, path: Path, wrong: Wrong) -> Iterator[FieldError]:
    if file.users and not file.queues:
        hint = "name the queues of those users too; without queues no gang may use the nodes"
        yield wrong("names users but no queues", (*path, "users"), hint)


def _ends(file: BookingFile, path: Path, wrong: Wrong) -> Iterator[FieldError]:
    given = {"end", "length"} & file.model_fields_set
    if len(given) != 1:
        what = "given twice" if given else "missing"
        yield wrong(f"its end is {what}", path, "give either `end` or `length`")
    elif (end := end_of(file)) <= file.begin:
        where = (*path, *given)
        yield wrong(f"ends when it begins or before: {print_instant(end)}", where, "")


def end_of(file: BookingFile) -> int:
    """When a booking ends, in ms of UTC."""
    return file.begin + (file.length or 0) if file.end is None else file.end


def unknown_queues(
    file: BookingFile, names: Collection[str], path: Path, wrong: Wrong
) -> Iterator[FieldError]:
    """Yield the queues of a booking that are not among `names`."""
    for at, name in enumerate(file.queues):
        if name not in names:
            hint = meant(name, names) or f"queues are {listed(sorted({*names})[:8]) or 'none'}"
            yield wrong(f"there is no queue {show(name)}", (*path, "queues", at), hint)


def given_twice(files: Sequence[BookingFile], wrong: Wrong) -> Iterator[FieldError]:
    """Yield the bookings of a file that have the name of one before them."""
    names = [vars(each).get("name", "") for each in files]
    for at, name in enumerate(names):
        if name and name in names[:at]:
            yield wrong(f"the booking `{name}` exists already", ("bookings", at, "name"), "")


def booked(file: BookingFile, fleet: Iterable[Node], path: Path, wrong: Wrong) -> Booking:
    """The booking of these nodes.

    Args:
        file: as it was written, free of `contradictions`.
        fleet: the nodes there are.
        path: where it lies.
        wrong: makes an error of problem, canonical path and hint.

    Raises:
        FieldError: nodes or domains do not exist; all of them.
    """
    known = {node.name: node for node in fleet}
    problems = [
        wrong(
            f"there is no node {show(name)}",
            (*path, "nodes", at),
            meant(name, [*known]) or "see: ganglion nodes",
        )
        for at, name in enumerate(file.nodes)
        if name not in known
    ]
    named = dict.fromkeys(file.nodes)
    for level, domain in file.within:
        found = [node.name for node in known.values() if node.domains.get(level) == domain]
        if not found:
            there = sorted({node.domains.get(level, "") for node in known.values()} - {""})
            hint = meant(domain, there) or f"there are {', '.join(there[:8]) or 'none'}"
            problems.append(wrong(f"there is no {level} {show(domain)}", (*path, "within"), hint))
        named |= dict.fromkeys(found)
    if problems:
        raise first_of(problems)
    return Booking(
        file.name,
        tuple(named),
        file.begin,
        end_of(file),
        file.queues,
        file.users,
        file.reason,
        file.clears,
    )


def written_booking(booking: Booking) -> dict[str, object]:
    """A booking as a file would say it."""
    found: dict[str, object] = {"name": booking.name, "nodes": list(booking.nodes)}
    begin, end = print_instant(booking.begins_at), print_instant(booking.ends_at)
    found |= {"begin": begin, "end": end}
    more: dict[str, Sequence[str]] = {"queues": list(booking.queues), "users": list(booking.users)}
    found |= {key: value for key, value in more.items() if value}
    found |= {"reason": booking.reason} if booking.reason else {}
    return found | ({"clears": True} if booking.clears else {})
