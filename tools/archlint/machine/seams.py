"""The machine is asked through `ganglion.seams`; what goes around that is found here.

A call of the time, of chance, of processes, files, databases or sockets that has its own way to
the kernel can be neither replayed nor made to fail. Names are resolved through aliases and
re-exports, as those of `purity` are. What has not got a seam yet, or needs none, is in `LEFT`.
"""

import ast
from collections.abc import Iterator
from functools import cache

from tools.archlint.machine.seams_left import LEFT, Left
from tools.archlint.names import BUILTINS, Names, names_of
from tools.archlint.source import PACKAGE, Finding, Source, walk

CLOCK, RANDOMNESS, PROCESSES = "clock", "randomness", "processes"
FILES, DATABASE, HTTP = "files", "database", "http"

OWN: dict[str, tuple[str, ...]] = {
    CLOCK: ("ganglion.seams.clock",),
    RANDOMNESS: ("ganglion.seams.randomness",),
    PROCESSES: (
        "ganglion.seams.processes",
        "ganglion.seams.forks",
        "ganglion.worlds.local.machine.host",
    ),
    FILES: ("ganglion.seams.files", "ganglion.seams.forks", "ganglion.worlds.local.machine.host"),
    DATABASE: ("ganglion.seams.connections",),
    HTTP: ("ganglion.transport",),
}
"""Kind -> modules, or packages, that are its seam."""


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names.split())


BANNED: dict[str, tuple[str, ...]] = {
    CLOCK: (
        "time",
        *_of("datetime.datetime", "now today utcnow"),
        "datetime.date.today",
        "asyncio.sleep",
        "anyio.sleep",
        "trio.sleep",
    ),
    RANDOMNESS: (
        "random",
        "secrets",
        "numpy.random",
        *_of("uuid", "uuid1 uuid4 uuid6 uuid7 uuid8 getnode"),
        *_of("os", "urandom getrandom"),
    ),
    PROCESSES: (
        "subprocess",
        "psutil",
        "multiprocessing",
        *_of("asyncio", "create_subprocess_exec create_subprocess_shell"),
        *_of("signal", "signal pthread_kill pidfd_send_signal set_wakeup_fd alarm setitimer"),
        *_of("os", "abort _exit execl execle execlp execv execve execvp execvpe fork forkpty"),
        *_of("os", "getpid getppid getpgid kill killpg pidfd_open popen posix_spawn posix_spawnp"),
        *_of("os", "setsid spawnl spawnv system wait wait3 wait4 waitid waitpid"),
    ),
    FILES: (
        f"{BUILTINS}.open",
        "io.open",
        "codecs.open",
        "fcntl",
        "shutil",
        "tempfile",
        "mmap",
        *_of("os", "chmod chown fchmod fdatasync fdopen fsync ftruncate link listdir lstat mkdir"),
        *_of("os", "makedirs mkfifo open posix_fallocate pread pwrite read readlink remove"),
        *_of("os", "removedirs rename renames replace rmdir scandir sendfile stat statvfs"),
        *_of("os", "symlink sync truncate unlink utime walk write"),
    ),
    DATABASE: (
        "sqlite3.connect",
        "sqlite3.dbapi2.connect",
        "psycopg.connect",
        "psycopg.Connection.connect",
        "psycopg.AsyncConnection.connect",
        "psycopg_pool",
        "sqlalchemy.create_engine",
        "sqlalchemy.engine.create_engine",
        "sqlalchemy.create_pool_from_url",
        "sqlalchemy.ext.asyncio.create_async_engine",
    ),
    HTTP: (
        *_of("httpx2", "AsyncClient AsyncHTTPTransport Client HTTPTransport"),
        *_of("httpx2", "delete get head options patch post put request stream"),
        *_of("socket", "create_connection create_server fromfd socket socketpair"),
        *_of("asyncio", "open_connection open_unix_connection start_server start_unix_server"),
        *_of("anyio", "connect_tcp connect_unix create_tcp_listener create_unix_listener"),
        *_of("http.client", "HTTPConnection HTTPSConnection"),
        *_of("urllib.request", "build_opener urlopen"),
        *_of("smtplib", "SMTP SMTP_SSL"),
    ),
}
"""Kind -> dotted names that only its seam may name; with a module, all that is in it."""

HARMLESS = frozenset(
    {
        *_of("time", "gmtime strftime strptime struct_time timezone tzname"),
        *_of("random", "Random"),  # from a seed: see `_unseeded`
        *_of("secrets", "compare_digest"),
        *_of("subprocess", "CalledProcessError CompletedProcess DEVNULL PIPE STDOUT"),
        *_of("subprocess", "SubprocessError TimeoutExpired"),
        *_of("shutil", "Error SameFileError get_terminal_size"),
        *_of("fcntl", "LOCK_EX LOCK_NB LOCK_SH LOCK_UN"),
        *_of("psutil", "CONN_LISTEN Error NoSuchProcess TimeoutExpired"),
    }
)
"""What lies in such a module and asks the machine nothing."""

METHODS = frozenset(
    {
        "chmod",
        "hardlink_to",
        "iterdir",
        "lchmod",
        "lstat",
        "mkdir",
        "read_bytes",
        "read_text",
        "rglob",
        "rmdir",
        "symlink_to",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    }
)
"""Methods of paths that reach the disk. `rename`, `replace`, `stat` and `open` are other things'
methods too: see `_moves` and `_opens`."""
LOOKS = frozenset({"exists", "is_dir", "is_file", "is_mount", "is_socket", "is_symlink"})
MODES = frozenset("abrtwx+")


def around_the_seams(files: list[Source]) -> Iterator[Finding]:
    """Find what asks the machine in a module that is no seam and is not in `LEFT`."""
    for source, line, kind, what in asked(files):
        if not excused(source.module, kind):
            message = f"{what}: take {kind} from the constructor (ganglion.seams)"
            yield Finding(source.path, line, "seams", message)


def asked(files: list[Source]) -> Iterator[tuple[Source, int, str, str]]:
    """Every place of the product that asks the machine: source, line, kind, and what it names."""
    names = names_of(tuple(files))
    for source in files:
        if source.module.partition(".")[0] == PACKAGE:
            for line, kind, what in _asked(names, source):
                if not _within(source.module, OWN[kind]):
                    yield source, line, kind, what


def excused(module: str, kind: str) -> Left | None:
    """The row of `LEFT` that lets a module ask by itself; None = none does."""
    of_kind = (each for each in LEFT if kind in each.kinds.split())
    return next((row for row in of_kind if _within(module, (f"{PACKAGE}.{row.module}",))), None)


def idle(files: list[Source]) -> Iterator[Finding]:
    """Find what `LEFT` allows and nothing needs."""
    needed = {(excused(source.module, kind), kind) for source, _, kind, _ in asked(files)}
    for row in LEFT:
        for kind in row.kinds.split():
            if (row, kind) not in needed:
                message = f"{row.module} does not need {kind} any more: remove it"
                yield Finding("tools/archlint/machine/seams_left.py", 0, "seams", message)


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == each or module.startswith(f"{each}.") for each in packages)


@cache
def _asked(names: Names, source: Source) -> tuple[tuple[int, str, str], ...]:
    return tuple(_asking(names, source))


def _asking(names: Names, source: Source) -> Iterator[tuple[int, str, str]]:
    for each in source.imports:
        # A module may be imported for its types; what is used of it is found where it is used.
        for dotted in (each.origin, each.module) if each.name == "*" else (each.origin,):
            kind = kind_of(names.origin(dotted))
            if kind and (each.origin != each.module or each.name == "*"):
                yield each.line, kind, dotted
    attributes = {id(n.value) for n in source.nodes if isinstance(n, ast.Attribute)}
    types = _types(source)
    for node in source.nodes:
        if id(node) in types:
            continue
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            dotted = names.dotted(source, node)
            # `time` alone is handed on, and then anything of it; `time.x` is looked at whole.
            if kind_of(dotted) and (id(node) not in attributes or "." in dotted):
                yield node.lineno, kind_of(dotted), dotted
        elif isinstance(node, ast.Call):
            yield from _called(names, source, node)


def _types(source: Source) -> set[int]:
    """Ids of the nodes of annotations: to say that something is a socket opens none."""
    found = set[int]()
    for node in source.nodes:
        for name in ("annotation", "returns"):
            said = getattr(node, name, None)
            if isinstance(said, ast.AST):
                found |= {id(each) for each in walk(said)}
    return found


@cache
def kind_of(dotted: str) -> str:
    """The kind that a dotted name belongs to; empty = none."""
    if not dotted or any(_within(dotted, (each,)) for each in HARMLESS):
        return ""
    return next((kind for kind, banned in BANNED.items() if _within(dotted, banned)), "")


def _called(names: Names, source: Source, node: ast.Call) -> Iterator[tuple[int, str, str]]:
    dotted = names.dotted(source, node.func)
    if dotted == f"{BUILTINS}.getattr" and len(node.args) > 1:
        spelt = node.args[1]
        if isinstance(spelt, ast.Constant) and isinstance(spelt.value, str):
            whole = f"{names.dotted(source, node.args[0])}.{spelt.value}"
            if kind_of(whole):
                yield node.lineno, kind_of(whole), whole
    elif dotted in {f"{BUILTINS}.__import__", "importlib.import_module"} and node.args:
        named = node.args[0]
        if isinstance(named, ast.Constant) and kind_of(str(named.value)):
            yield node.lineno, kind_of(str(named.value)), str(named.value)
    elif dotted in {"random.Random", "random.SystemRandom"} and not (node.args or node.keywords):
        yield node.lineno, RANDOMNESS, f"{dotted}() without a seed"
    if isinstance(node.func, ast.Attribute) and _on_disk(names, source, node, node.func):
        yield node.lineno, FILES, node.func.attr


def _on_disk(names: Names, source: Source, call: ast.Call, method: ast.Attribute) -> bool:
    """Whether a method is one of a path."""
    receiver = ast.unparse(method.value)
    if receiver.endswith(("files", "host")) or names.dotted(source, method).startswith(PACKAGE):
        return False  # the seam itself, or a function of the project
    if method.attr in METHODS or (method.attr in LOOKS and not call.args):
        return True
    return _moves(call, method) or _opens(call, method)


def _moves(call: ast.Call, method: ast.Attribute) -> bool:
    """`path.replace(other)`: that of texts takes two, that of structs and dates takes names."""
    return method.attr in {"rename", "replace"} and len(call.args) == 1 and not call.keywords


def _opens(call: ast.Call, method: ast.Attribute) -> bool:
    """`path.open()`, and with a mode or an encoding."""
    if method.attr == "stat":
        return not call.args
    if method.attr != "open":
        return False
    if any(each.arg in {"encoding", "newline", "buffering", "mode"} for each in call.keywords):
        return True
    mode = call.args[0] if call.args else None
    return isinstance(mode, ast.Constant) and set(str(mode.value)) <= MODES
