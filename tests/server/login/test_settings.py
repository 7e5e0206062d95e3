"""`login.yaml`: what it may say."""

from pathlib import Path

import pytest

from ganglion.model.errors import FileError
from ganglion.seams.files import SYSTEM_FILES
from ganglion.server.login.settings import read_login, secret_of

GOOD = """
issuer: https://login.example.org
client_id: ganglion
public_url: https://GPU.example.org/
"""


def test_without_the_file_browsers_cannot_sign_in(tmp_path: Path) -> None:
    assert read_login(tmp_path) is None


def test_what_is_not_said_is_usual(tmp_path: Path) -> None:
    (tmp_path / "login.yaml").write_text(GOOD)
    found = read_login(tmp_path)
    assert found
    assert (found.origin, found.authority) == ("https://gpu.example.org", "gpu.example.org")
    assert (found.idle_ms, found.lasting_ms) == (7_200_000, 43_200_000)
    assert found.is_secure
    assert secret_of(found, SYSTEM_FILES) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expected `object`"),
        ("- 1", "Expected `object`"),
        (GOOD + "secret: hunter2", "unknown field `secret`"),
        (GOOD + "idle: soon", "soon"),
        (GOOD.replace("https://login", "http://login"), "issuer: https is needed"),
        (GOOD.replace("https://GPU", "http://GPU"), "public_url: https is needed"),
        (GOOD.replace("example.org/", "example.org/path"), "it has a path"),
        (GOOD.replace("https://login", "ftp://login"), "no URL of a server"),
        (GOOD + "client_secret_file: /no/such/file", "No such file"),
        ("issuer: [", "login.yaml"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "login.yaml").write_text(text)
    with pytest.raises(FileError) as error:
        read_login(tmp_path)
    assert said in str(error.value)


def test_the_secret_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    (tmp_path / "login.yaml").write_text(f"{GOOD}client_secret_file: {secret}")
    secret.write_text("s3cret \nmore\n")
    found = read_login(tmp_path)
    assert found
    assert secret_of(found, SYSTEM_FILES) == "s3cret"
    assert "s3cret" not in repr(found)
    secret.write_text("\n")
    with pytest.raises(FileError, match="is empty"):
        read_login(tmp_path)
