"""Parts that a server is made of."""

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from ganglion.ledger.records import Entry
from ganglion.lifecycle.expand import run_of
from ganglion.model.errors import EnvironmentFault
from ganglion.model.fleet.node import Node
from ganglion.seams.clock import Clock
from ganglion.seams.effects import Effects
from ganglion.seams.files import Files, remove
from ganglion.server.accounts.settings import SharedHost
from ganglion.server.commands.bookings import BookingsKeeper
from ganglion.server.commands.schedules import SchedulesKeeper
from ganglion.server.controllers.budgets import BudgetsController
from ganglion.server.controllers.controller import Controller
from ganglion.server.controllers.failures import FailuresController
from ganglion.server.controllers.services import Ready, ServicesController
from ganglion.server.controllers.sweeps import SweepsController
from ganglion.server.loop.timekeeping import newest_time
from ganglion.server.models.asking import SecretValue
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.images import image_now
from ganglion.server.models.keeper import ModelsKeeper
from ganglion.server.models.resolver import ModelResolver
from ganglion.server.models.watch import ModelWatch
from ganglion.server.notify.notifier import Notifier
from ganglion.server.recovery.executor import Held
from ganglion.server.rest.listening.home import Home
from ganglion.server.signals.loads import Loads
from ganglion.server.signals.router_link import Door
from ganglion.server.signals.scraper import Scraper
from ganglion.server.state.feed import Feed
from ganglion.server.telemetry.curves import AttemptCurves
from ganglion.transport import unix
from ganglion.transport.accepting import listening
from ganglion.transport.egress import Egress
from ganglion.worlds.local.attempts.launch import ModelPath
from ganglion.worlds.local.world import LocalWorld
from ganglion.worlds.world import ServedWorld


def local_world(
    held: Held,
    place: Home,
    nodes: Sequence[Node],
    umask: int,
    most_files: int,
    accounts: SharedHost,
    effects: Effects,
    model_path: ModelPath,
) -> ServedWorld:
    """This machine, for the term of a ledger; jobs get the limits that the server was given."""
    return LocalWorld(
        place.root,
        nodes,
        run_of=run_of,
        umask=umask,
        open_files=most_files,
        term=held.term,
        inherits=held.inherits,
        least=newest_time(held.ledger),
        effects=effects,
        helper=str(accounts.helper),
        model_path=model_path,
    )


def models_of(
    stack: ExitStack,
    place: Home,
    secret: SecretValue,
    effects: Effects,
    accounts: SharedHost,
) -> tuple[ModelWatch, ModelCache]:
    """What asks the registries of models that the home names, and what keeps models."""
    resolver = ModelResolver(
        place.root, secret, effects, shares_account=lambda: not accounts.accounts
    )
    cache = ModelCache(resolver, effects)
    stack.callback(cache.close)
    cache.look()  # what starts first finds its model, too
    return ModelWatch(resolver, effects.clock), cache


def keepers_of(
    stack: ExitStack,
    door: Door,
    egress: Egress,
    clock: Clock,
    ready: Ready,
    models: ModelWatch,
) -> list[Controller]:
    """The keepers of each kind of workload; their threads end with the stack."""
    scraper = Scraper(egress, clock)
    scraper.start()
    stack.callback(scraper.stop)
    services = ServicesController(door, Loads(scraper), ready)
    failures, sweeps = FailuresController(), SweepsController()
    schedules = SchedulesKeeper(models.latest, partial(image_now, models))
    watching = ModelsKeeper(models)
    others = (BookingsKeeper(), failures, services, watching, sweeps, BudgetsController())
    return [schedules, *others]


def published(
    feed: Feed, notifier: Notifier, curves: AttemptCurves
) -> Callable[[list[Entry]], None]:
    """Send what was written to streams and people, and to what keeps curves."""

    def tell(entries: list[Entry]) -> None:
        feed.publish(entries)
        notifier.wake()
        curves.note(entries)

    return tell


def called_by_accounts(stack: ExitStack, accounts: SharedHost, files: Files) -> list[socket.socket]:
    """The socket where other accounts of this machine call; none where none is asked for.

    Raises:
        EnvironmentFault: it cannot be made.
    """
    if accounts.socket is None:
        return []
    try:
        taken = stack.enter_context(listening(unix.bind(accounts.socket, unix.FOR_ALL)))
    except OSError as error:
        raise EnvironmentFault(
            f"{accounts.socket}, the socket for other accounts, cannot be made: {error.strerror}",
            "as root: install -d -o ACCOUNT_OF_THE_SERVER " + str(accounts.socket.parent),
        ) from error
    stack.callback(remove, files, accounts.socket)
    return [taken]
