"""Installs hashed requirements into this environment: `python -m tools.checkout.install FILE...`.

pip does so the first time, with what the person has configured, and then fills a folder of wheels
in `~/.cache/ganglion`, named after what the files ask for. From there uv, which is one of these
wheels, fills every further environment within seconds, without a network; where it cannot, pip
does it again. Hashes are checked each time.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from zipfile import ZipFile

from tools.checkout.kept import CACHE, forget

UV = Path(__file__).parents[2] / "requirements" / "uv.txt"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def wheels(files: list[Path]) -> Path:
    """The folder of the wheels for these files, filled or not."""
    digest = sha256(f"{sys.version} {sysconfig.get_platform()}".encode())
    for each in (UV, *files):
        digest.update(each.read_bytes())
    return CACHE / f"wheels-{digest.hexdigest()[:12]}"


def asked(files: list[Path]) -> list[str]:
    """The arguments that name the files."""
    return ["--require-hashes", *(word for each in files for word in ("-r", str(each)))]


def quickly(folder: Path, files: list[Path]) -> bool:
    """Install from a filled folder. False = that cannot be done."""
    uv = folder / "uv"
    if not uv.exists():
        return False
    command = [str(uv), "pip", "install", "--quiet", "--offline", "--no-index", "--no-config"]
    command += ["--find-links", str(folder), "--cache-dir", str(folder / "unpacked")]
    command += ["--python", sys.executable, *asked(files)]
    return subprocess.run(command, check=False).returncode == 0


def fill(folder: Path, files: list[Path]) -> None:
    """Download wheels into a folder, unless some cannot be had: then it stays as it is."""
    CACHE.mkdir(parents=True, exist_ok=True)
    part = Path(mkdtemp(prefix="part-wheels-", dir=CACHE))
    try:
        command = [*PIP, "download", "--only-binary=:all:", "--dest", str(part)]
        done = subprocess.run([*command, *asked([UV, *files])], capture_output=True, check=False)
        if done.returncode == 0 and not folder.exists():
            _unpack(part)
            part.rename(folder)
            forget("wheels")
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _unpack(folder: Path) -> None:
    """Take uv out of its wheel."""
    for wheel in folder.glob("uv-*.whl"):
        with ZipFile(wheel) as packed:
            for name in packed.namelist():
                if name.endswith("/scripts/uv"):
                    (folder / "uv").write_bytes(packed.read(name))
                    (folder / "uv").chmod(0o755)


def main() -> int:
    """Run the tool."""
    files = [Path(each) for each in sys.argv[1:]]
    folder = wheels(files)
    if quickly(folder, files):
        os.utime(folder)
        return 0
    code = subprocess.run([*PIP, "install", *asked(files)], check=False).returncode
    if code == 0 and not folder.exists():
        fill(folder, files)
    return code


if __name__ == "__main__":
    sys.exit(main())
