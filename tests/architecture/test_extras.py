"""The SDK needs little; what needs more says which extra to install; the wheel is the product."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ganglion.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BLOCKED = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""
SUBMIT = """
import httpx2
from ganglion.client import Client

asked = []
def answer(request):
    asked.append((request.method, request.url.path, request.read()))
    return httpx2.Response(503, json={"code": "x", "message": "closed", "hint": ""})

client = Client("http://127.0.0.1:7077", "secret", transport=httpx2.MockTransport(answer))
for call in (
    lambda: client.submit({"name": "hello", "run": "true", "resources": {"gpus": 1}}),
    lambda: client.why("hello-1"),
):
    try:
        call()
    except Exception as error:
        assert type(error).__module__ == "ganglion.model.errors", repr(error)
print(*sorted({path for _, path, _ in asked}))
"""


def name_of(requirement: str) -> str:
    """Name of a distribution in a requirement, normalised."""
    return canonicalize_name(Requirement(requirement).name)


def closure(requirements: Iterable[str]) -> set[str]:
    """Distributions that these install here, with all that those need."""
    found, waiting = set[tuple[str, str]](), list(requirements)
    while waiting:
        each = Requirement(waiting.pop())
        for extra in (each.extras or set()) | {""}:
            key = (canonicalize_name(each.name), extra)
            if key in found:
                continue
            found.add(key)
            for further in requires(key[0]) or ():
                marker = Requirement(further).marker
                if marker is None or marker.evaluate({"extra": extra}):
                    waiting.append(further)
    return {name for name, _ in found}


def modules_of(distributions: set[str]) -> set[str]:
    known = packages_distributions()
    return {top for top, names in known.items() if distributions & set(map(name_of, names))}


def blocked(allowed: Iterable[str]) -> str:
    """Source that makes everything unimportable but the standard library, us and `allowed`."""
    tops = set(packages_distributions()) - set(allowed) - {"ganglion"}
    return BLOCKED.format(blocked=tops)


def ran(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )


BASE = modules_of(closure(PROJECT["dependencies"]))


def test_the_sdk_needs_msgspec_httpx2_and_little_else() -> None:
    assert {name_of(each) for each in PROJECT["dependencies"]} == {"msgspec", "httpx2", "psutil"}
    assert not BASE & {"numpy", "pydantic", "click", "fastapi", "aiohttp", "yaml", "sqlalchemy"}


def test_the_sdk_works_with_its_own_dependencies_alone() -> None:
    done = ran(blocked(BASE) + SUBMIT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["/api/v1/workloads", "/api/v1/workloads/hello-1/why"]


def test_extras_are_those_of_the_project() -> None:
    listed = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(listed)
    ours = {name: expanded(listed, name) for name in listed}
    installed = packages_distributions()
    for extra, modules in EXTRAS.items():
        needed = set(modules) | (set(EXTRAS["server"]) if extra == "postgres" else set())
        assert needed == modules_of({name_of(each) for each in ours[extra]}) & needed, extra
        assert {name_of(each) for each in ours[extra]} == {
            name_of(name) for top in needed for name in installed[top]
        }, extra


def expanded(listed: dict[str, list[str]], extra: str) -> list[str]:
    """Requirements of an extra, with those of the extras that it takes in."""
    found = list[str]()
    for each in listed[extra]:
        if name_of(each) == "ganglion":
            (inner,) = re.findall(r"\[(.*?)\]", each)
            found += [one for name in inner.split(",") for one in expanded(listed, name)]
        else:
            found.append(each)
    return found


@pytest.mark.parametrize(
    ("module", "args", "extra"),
    [
        ("ganglion", ["ps"], "cli"),
        ("ganglion.server", ["--home", "/x", "--cluster", "/y"], "server"),
        ("ganglion.router", ["--home", "/x"], "router"),
    ],
)
def test_a_program_without_its_extra_names_it(module: str, args: list[str], extra: str) -> None:
    code = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    done = ran(blocked(BASE) + code, *args)
    assert done.returncode == 1
    assert f"pip install 'ganglion[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "extra"),
    [
        (["up"], "server"),
        (["demo"], "server"),
        (["ledger", "verify"], "server"),
        (["scheduler"], "kubernetes"),
    ],
)
def test_a_command_without_its_extra_names_it(args: list[str], extra: str) -> None:
    allowed = BASE | modules_of(closure(expanded(PROJECT["optional-dependencies"], "cli")))
    code = "from ganglion.cli.main import main; main()"
    done = ran(blocked(allowed) + code, *args)
    assert done.returncode == 1, done.stderr
    assert f"pip install 'ganglion[{extra}]'" in done.stderr
    assert "failed unexpectedly" not in done.stderr


def test_a_module_that_is_missing_on_the_way_is_explained() -> None:
    allowed = BASE | modules_of({"click", "rich", "rich-click", "markdown-it-py", "mdurl"})
    done = ran(
        blocked(allowed | {"pygments"}) + "from ganglion.cli.main import main; main()", "schema"
    )
    assert done.returncode == 1, done.stderr
    assert "pip install 'ganglion[cli]'" in done.stderr


def test_the_wheel_holds_the_product_and_nothing_beside_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (each for each in names if each.endswith(".dist-info/METADATA"))
        needs = re.findall(r"^Requires-Dist: (.*)$", archive.read(metadata).decode(), re.M)
    assert {each.partition("/")[0].partition("-")[0] for each in names} == {"ganglion"}
    assert not [each for each in names if "bench" in each or "kueue_" in each or "kai_" in each]
    if (ROOT / "src/ganglion/server/portal/static/manifest.json").exists():
        assert "ganglion/server/portal/static/index.html" in names
    assert not [each for each in names if "node_modules" in each or each.endswith(".tsx")]
    always = {name_of(each) for each in needs if "extra ==" not in each}
    assert always == {"msgspec", "httpx2", "psutil"}
