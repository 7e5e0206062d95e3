"""Builds and tests the portal, whose sources are in `portal/`, with Node.js.

python -m tools.portal build     build it into the package, unless its sources are as they were
python -m tools.portal test      the same, then its component tests
python -m tools.portal dev       serve it from its sources, in front of $GANGLION_URL

Packages, and what was built and has passed its tests, are kept in `~/.cache/ganglion` and taken
from there as long as neither a source nor the version of Node.js is another.

With `--if-possible` a machine without Node.js, or without a registry of npm packages, is no
failure: what is missing is said, and tests in a browser are skipped.
"""

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tools.checkout.kept import keep, take

ROOT = Path(__file__).resolve().parents[1]
PORTAL = ROOT / "portal"
MODULES = PORTAL / "node_modules"
STATIC = ROOT / "src" / "ganglion" / "server" / "portal" / "static"
BUILT, INSTALLED = STATIC / "stamp", MODULES / ".ganglion-stamp"
LOCK = ("package.json", "package-lock.json", ".npmrc")
PATIENCE = ("--fetch-retries=1", "--fetch-timeout=60000")
"""So that a machine without a registry is known as one within minutes."""
VERSION = "GANGLION_NODE_VERSION"
"""Variable with the version of Node.js."""
LEAST = (22, 12)
"""Version of Node.js that the tools need."""


class Missing(Exception):
    """What is needed cannot be had on this machine."""


def sources() -> Iterator[Path]:
    """Files that the build depends on, in order."""
    yield from (PORTAL / each for each in (*LOCK, "index.html", "tsconfig.json", "vite.config.ts"))
    for folder in ("public", "scripts", "src"):
        yield from sorted(each for each in (PORTAL / folder).rglob("*") if each.is_file())


def digest(paths: Iterator[Path]) -> str:
    """One digest of names and contents."""
    found = sha256()
    for each in paths:
        content = each.read_bytes()
        found.update(f"{each.relative_to(ROOT)} {len(content)}\0".encode() + content)
    return found.hexdigest()


def current(stamp: Path, wanted: str) -> bool:
    """Whether something was made from what there is now."""
    return stamp.exists() and stamp.read_text("ascii") == wanted


def environment() -> dict[str, str]:
    """The environment of Node.js: that of this virtual environment comes first.

    Raises:
        Missing: there is none, or it is too old.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    for name in ("node", "npm"):
        if not shutil.which(name, path=path):
            raise Missing(f"there is no {name}: pip install -r requirements/portal.txt")
    made = {**os.environ, "PATH": path}
    said = subprocess.run(
        [str(shutil.which("node", path=path)), "--version"],
        env=made,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    numbers = tuple(int(each) for each in said.lstrip("v").split(".")[:2] if each.isdigit())
    if numbers < LEAST:
        least = ".".join(map(str, LEAST))
        raise Missing(
            f"Node.js {said or '(unknown)'} is older than {least}: make portal brings one"
        )
    made[VERSION] = said
    return made


def npm(*words: str) -> None:
    """Run npm in the folder of the portal. Raises CalledProcessError where it fails."""
    made = environment()
    subprocess.run(
        [str(shutil.which("npm", path=made["PATH"])), *words], cwd=PORTAL, env=made, check=True
    )


def install() -> None:
    """Install the packages that the lock names, unless they are there.

    Raises:
        Missing: Node.js or the registry of packages cannot be had.
    """
    wanted = digest(PORTAL / each for each in LOCK)
    environment()
    if current(INSTALLED, wanted):
        return
    name = f"packages-{wanted[:12]}"
    # Nothing writes to files of packages: links do.
    if not MODULES.exists() and take(name, MODULES, os.link) and current(INSTALLED, wanted):
        return
    try:
        npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *PATIENCE)
    except subprocess.CalledProcessError as error:
        raise Missing("npm could not install the packages of portal/package-lock.json") from error
    INSTALLED.write_text(wanted, "ascii")
    keep(name, MODULES)


def build() -> None:
    """Build, unless the built files are of these sources."""
    wanted = digest(sources())
    if current(BUILT, wanted):
        return
    install()
    npm("run", "--silent", "types")
    npm("run", "--silent", "build")
    BUILT.write_text(wanted, "ascii")


def test() -> None:
    """Build, and run the component tests, unless these sources have passed them."""
    install()
    version = environment()[VERSION]
    wanted = digest(sources())
    name = f"portal-{sha256(f'{wanted} {version}'.encode()).hexdigest()[:12]}"
    if not current(BUILT, wanted):
        shutil.rmtree(STATIC, ignore_errors=True)
        if take(name, STATIC) and current(BUILT, wanted):
            print("The portal is as it was when it was built and passed its tests")
            return
    build()
    npm("run", "--silent", "test")
    keep(name, STATIC)


def main() -> int:
    """Run the tool."""
    parser = ArgumentParser(prog="python -m tools.portal")
    parser.add_argument("what", choices=("build", "test", "dev"))
    parser.add_argument("--if-possible", action="store_true")
    given = parser.parse_args()
    try:
        if given.what == "dev":
            install()
            npm("run", "dev")
        else:
            {"build": build, "test": test}[given.what]()
    except Missing as error:
        line = "=" * 80
        print(f"{line}\nTHE PORTAL IS NOT BUILT AND NOT TESTED: {error}\n{line}", file=sys.stderr)
        return 0 if given.if_possible else 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
