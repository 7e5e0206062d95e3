"""`python -m ganglion.server`: one server in the foreground, for process managers and tests."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ganglion.extras import require
from ganglion.model.errors import GanglionError
from ganglion.transport.tls.files import TLS, add_options, tls_files


def _parser() -> argparse.ArgumentParser:
    from ganglion.server.main import PORT  # noqa: PLC0415 - they need the extra
    from ganglion.server.rest.listening.listen import MOST_CALLERS  # noqa: PLC0415 - the same

    parser = argparse.ArgumentParser("python -m ganglion.server", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Ganglion's home directory")
    parser.add_argument("--cluster", type=Path, required=True, help="nodes, queues and policy")
    parser.add_argument("--policy", default="", help="a preset, or a policy file")
    parser.add_argument("--port", type=int, default=PORT, help="0 = any free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument(
        "--behind-proxy", action="store_true", help="a proxy in front of the server speaks TLS"
    )
    parser.add_argument("--host-name", action="append", default=[], help="a name it answers to")
    add_options(parser, TLS)
    parser.add_argument("--service-keys", choices=["on", "off"], default="on", help="let in")
    parser.add_argument("--allow-url", action="append", default=[], help="a private host")
    parser.add_argument("--max-connections", type=int, default=MOST_CALLERS, help="over TCP")
    parser.add_argument("--dry-runs", type=int, help="a minute, of one user")
    parser.add_argument("--database", default="", help="URL of the ledger's database")
    parser.add_argument(
        "--take-over", action="store_true", help="execute a ledger that another home executed"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Serve; returns the exit code."""
    try:
        require("server")
        _serve(_parser().parse_args(argv))
    except GanglionError as error:
        for each in error.errors or (error,):
            hint = f"\nhint: {each.hint}" if each.hint else ""
            sys.stderr.write(f"error: {each}{hint}\n")
        return error.exit_code
    return 0


def _serve(args: argparse.Namespace) -> None:
    from ganglion.server.main import serve  # noqa: PLC0415 - they need the extra
    from ganglion.specs.cluster.cluster import load_cluster  # noqa: PLC0415 - the same
    from ganglion.specs.policy.policy import resolve_policy  # noqa: PLC0415 - the same

    cluster = load_cluster(args.cluster)
    serve(
        args.home,
        nodes=cluster.nodes,
        queues=cluster.queues,
        policy=resolve_policy(args.policy) if args.policy else cluster.policy_file,
        port=args.port,
        host=args.host,
        behind_proxy=args.behind_proxy,
        host_names=args.host_name,
        tls=tls_files(args.tls, args.tls_cert, args.tls_key),
        service_keys=args.service_keys == "on",
        max_connections=args.max_connections,
        most_dry_runs=args.dry_runs,
        allowed_urls=args.allow_url,
        database_url=args.database,
        take_over=args.take_over,
        say=lambda text: print(text, file=sys.stderr, flush=True),  # noqa: T201 - its output
    )


if __name__ == "__main__":
    sys.exit(main())
