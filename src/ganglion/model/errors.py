"""Every error Ganglion raises on purpose, as one tree.

GanglionError
├── InputError        what a person wrote cannot be used           exit code 2
│   ├── FileError         a file is unreadable, too big, not text
│   └── FieldError        a key or value of a file is wrong: names file, line, key
├── StateError        the request is well formed, but not now      exit code 1
│   ├── NotFound
│   ├── RateLimited       asked too often: later
│   ├── Conflict          duplicate name, wrong phase
│   │   └── Stale             changed since it was read
│   └── InvariantBroken   a bug in Ganglion: state contradicts itself
├── Forbidden         no role of the user allows it                exit code 1
│   └── NoAccount         programs of the user run as no account
├── PluginError       a plugin failed or misbehaved                exit code 1
└── EnvironmentFault  the machine refuses: port, disk, server down exit code 1
    ├── ModelRegistryDown a registry of models does not answer
    ├── InUse             another server holds the home or the ledger
    ├── NotExecutor       another home executes the ledger         exit code 3
    └── Superseded        another home took the ledger over        exit code 3
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # the command line starts without msgspec
    from ganglion.model.executor import Term


class GanglionError(Exception):
    """Base of the tree.

    Args:
        message: one sentence that names the thing that is wrong.
        hint: what to do about it; empty when there is nothing to suggest.

    Attributes:
        request: id of the request that a server refused; empty = no request was refused.
    """

    code = "ganglion"
    exit_code = 1
    request = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def errors(self) -> tuple["FieldError", ...]:
        """Every wrong key or value that it reports; empty = it is none of the input."""
        return ()


class InputError(GanglionError):
    """What a person wrote cannot be used."""

    code = "input"
    exit_code = 2


class FileError(InputError):
    """A file cannot be read as what it should be."""

    code = "input.file"


class FieldError(InputError):
    """A key or a value is wrong.

    Args:
        message: what is wrong with the value.
        key: dotted path of the key, as `resources.gpus`; empty for the whole document.
        file: the file as the user named it; empty when the input was no file.
        line: 1-based line in the file; 0 when unknown.
        column: 1-based column of that line; 0 when unknown.
        hint: what to write instead.

    Attributes:
        others: further errors of the same input, in their order.
    """

    code = "input.field"
    others: tuple["FieldError", ...] = ()

    def __init__(
        self,
        message: str,
        *,
        key: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        hint: str = "",
    ) -> None:
        place = ":".join(part for part in (file, str(line) if line else "", key) if part)
        super().__init__(f"{place}: {message}" if place else message, hint)
        self.key, self.file, self.problem = key, file, message
        self.line, self.column = line, column

    @property
    def errors(self) -> tuple["FieldError", ...]:
        """It and the further errors of the same input."""
        return (self, *self.others)

    def among(self, others: Iterable["FieldError"]) -> Self:
        """Report further errors of the same input with this one."""
        self.others = tuple(others)
        return self


class StateError(GanglionError):
    """The request is well formed, but the present state does not allow it."""

    code = "state"


class NotFound(StateError):
    """No such workload, queue, node, rank or benchmark."""

    code = "state.not_found"


class Conflict(StateError):
    """Something of that name exists, or is in a phase that forbids the request."""

    code = "state.conflict"


class Stale(Conflict):
    """The thing was changed since the client read it.

    Attributes:
        etag: the present one; empty = the thing does not exist.
    """

    code = "state.stale"
    etag = ""


class PlanChanged(Conflict):
    """A dry run would say something else now than what was agreed to; nothing was submitted."""

    code = "state.plan"


class RateLimited(StateError):
    """It was asked for too often; the message says what, and the hint how long to wait.

    Attributes:
        wait_s: whole seconds until it is taken; 0 = not known.
    """

    code = "state.rate_limited"
    wait_s = 0

    @classmethod
    def after(cls, wait_s: int, message: str) -> Self:
        """Return the error of what is taken again in some seconds."""
        made = cls(message, f"try again in {wait_s} s")
        made.wait_s = wait_s
        return made


class Forbidden(GanglionError):
    """No role of the user allows it; the message names what is missing."""

    code = "access"


class NoAccount(Forbidden):
    """There is no Unix account that programs of the user may run as."""

    code = "access.account"


class NoClusterRight(Forbidden):
    """No role of the cluster lets the service account use the queue; the message names the verb."""

    code = "access.cluster"


class InvariantBroken(StateError):
    """The engine's state contradicts itself: a bug in Ganglion, never a user's fault."""

    code = "state.invariant"


class PluginError(GanglionError):
    """A plugin could not be loaded, failed, or returned something of the wrong shape."""

    code = "plugin"


class EnvironmentFault(GanglionError):
    """The machine refuses: a port in use, a disk that cannot be written, a server down."""

    code = "environment"


class ModelRegistryDown(EnvironmentFault):
    """A registry of models, which a workload file refers to, does not answer as it should."""

    code = "environment.model_registry"


class InUse(EnvironmentFault):
    """Another server holds the lock of a home or of a ledger."""

    code = "environment.in_use"


class NotExecutor(EnvironmentFault):
    """Another home executes the ledger, so this one must not start its gangs.

    Args:
        message: names both homes.
        hint: how to go on.
        holder: the term of the other home; None = the message is all that is known.
    """

    code = "environment.not_executor"
    exit_code = 3

    def __init__(self, message: str, hint: str = "", holder: "Term | None" = None) -> None:
        super().__init__(message, hint)
        self.holder = holder


class Superseded(EnvironmentFault):
    """Another home took the ledger over while this one served."""

    code = "environment.superseded"
    exit_code = 3
