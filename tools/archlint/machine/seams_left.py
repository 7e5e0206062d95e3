"""Modules that ask the machine by themselves, and why. The table only gets shorter.

A row that nothing needs any more is a finding.
"""

from collections.abc import Sequence
from typing import NamedTuple

CALLER = "a command at a terminal or the SDK: what one person sees and waits for"
DEMO = "programs of the demonstration, which run as jobs and clients do"
JOB = "is imported by users' jobs, and knows nothing of the server"
BARE = "a supervisor or what it runs: `python -S` starts it, and gives it nothing"
SOCKET = "opens or takes the sockets that requests come and go through"
INPUT = "reads a file that a user names, once, and says what is wrong with it"
OWN_WORD = "a method of a class of its own that is called as one of paths is"
OWN_END = "says what its own process does on a signal"
OUTLIVES = "starts a program that outlives its own process, and gives it a log"
ROOT = "the root helper: `python -S` starts it, and every line of it is read with suspicion"
BELOW = "keeps connections; tests put another `Exchange` in their place"
TELLS = "stamps and names what it sends to a collector of traces: no decision follows from it"


class Left(NamedTuple):
    """A row.

    Attributes:
        module: or a package, with all that is in it; below `ganglion`.
        kinds: what it asks for by itself.
        reason: why it may.
    """

    module: str
    kinds: str
    reason: str


LEFT: Sequence[Left] = (
    Left("audit.anchors", "http", SOCKET),
    Left("audit.object_store", "http", SOCKET),
    Left("checkpoint", "clock files processes", JOB),
    Left("cli", "clock database files http processes", CALLER),
    Left("client", "clock files http processes randomness", CALLER),
    Left("demo", "clock files http processes randomness", DEMO),
    Left("helper", "clock files http processes", ROOT),
    Left("router.launch", "files processes", OUTLIVES),
    Left("router.launch", "http", SOCKET),
    Left("router.proxy.probe", "http", SOCKET),
    Left("server.cluster.activity.exporters", "http", SOCKET),
    Left("server.cluster.controllers.onlooker", "http", SOCKET),
    Left("server.cluster.scheduling", "processes", OWN_END),
    Left("server.cluster.outbox.post", "http", SOCKET),
    Left("server.login.issuer", "http", SOCKET),
    Left("server.models.asking", "http", SOCKET),
    Left("server.notify.notices", "http", SOCKET),
    Left("server.rest.listening.listen", "processes", OWN_END),
    Left("server.routes.terminals", "http", SOCKET),
    Left("server.signals.scraper", "http", SOCKET),
    Left("specs.reading.text", "files", INPUT),
    Left("tracing.export", "http processes", TELLS),
    Left("tracing.spans", "clock randomness", TELLS),
    Left("transport.accepting", "clock files", SOCKET),
    Left("transport.line", "clock", CALLER),
    Left("transport.proof", "randomness", CALLER),
    Left("transport.unix", "files", SOCKET),
    Left("worlds.dcgm", "http", SOCKET),
    Left("worlds.jupyter", "http", SOCKET),
    Left("worlds.kubernetes.cluster_view.cluster_view", "files", OWN_WORD),
    Left("worlds.kubernetes.http.connect", "http", SOCKET),
    Left("worlds.kubernetes.http.pool", "clock", BELOW),
    Left("worlds.kubernetes.http.reflect", "files", OWN_WORD),
    Left("worlds.kubernetes.http.session", "clock", BELOW),
    Left("worlds.kubernetes.sign_in.config", "files", INPUT),
    Left("worlds.kubernetes.sign_in.kubeconfig", "files", INPUT),
    Left("worlds.local.attempts.reaching", "http", SOCKET),
    Left("worlds.local.executing", "clock files http", BARE),
    Left("worlds.local.holding", "clock files http processes", BARE),
    Left("worlds.local.machine.host", "clock", BARE),
    Left("worlds.local.machine.ports", "http", BARE),
    Left("worlds.local.ranks.slurm", "files", BARE),
    Left("worlds.local.run_files.records", "clock", BARE),
    Left("worlds.local.supervision.callers", "files processes", BARE),
    Left("worlds.local.supervision.children", "clock files http processes", BARE),
    Left("worlds.local.supervision.frames", "clock", BARE),
    Left("worlds.local.supervision.hook", "files", BARE),
    Left("worlds.local.supervision.members", "clock", BARE),
    Left("worlds.local.supervision.processes", "clock files", BARE),
    Left("worlds.local.supervision.pseudo", "files", BARE),
    Left("worlds.local.supervision.terminals", "processes", BARE),
    Left("worlds.local.supervision.wakeups", "files processes", BARE),
    Left("worlds.local.supervisor", "clock files processes", BARE),
    Left("worlds.simulated.readers.text", "files", INPUT),
)
