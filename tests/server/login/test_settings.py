"""`login.yaml`: what it may say."""

from pathlib import Path

import pytest

from ganglion.model.errors import FieldError, FileError, InputError
from ganglion.seams.files import SYSTEM_FILES
from ganglion.server.login.settings import read_login, secret_of

DOCS = Path(__file__).parents[3] / "docs" / "access.md"
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
    assert found.every_origin == ("https://gpu.example.org",)
    assert found.authorities == ("gpu.example.org",)
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
        (GOOD + "local_users: true", "local_users: an identity provider is named, too"),
        (GOOD + "local_users: maybe", "local_users"),
        (GOOD + "origins: [gpu.internal]", "origins[0]: 'gpu.internal' is no URL of a server"),
        (GOOD + "origins: ['https://a', 'https://b/c']", "origins[1]: it has a path"),
        (GOOD + "origins: ['http://localhost:7077']", "origins[0]: public_url has https"),
        (GOOD + "origins: https://gpu.internal", "origins"),
        ("local_users: true", "public_url"),
        ("local_users: true\npublic_url: http://gpu.example.org", "public_url: https is needed"),
    ],
)
def test_what_is_wrong_is_said_at_the_start(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "login.yaml").write_text(text)
    with pytest.raises(InputError) as error:
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


def test_local_users_need_no_provider(tmp_path: Path) -> None:
    (tmp_path / "login.yaml").write_text("public_url: https://gpu.example.org\nlocal_users: true")
    found = read_login(tmp_path)
    assert found
    assert (found.has_pages, found.has_provider, found.session_issuer) == (True, False, "local")


RULE = """
  - issuer: https://token.actions.githubusercontent.com
    claims: {repository_id: "74", ref: refs/heads/main}
    user: ci-research
"""


def test_programs_of_ci_need_no_provider_of_users(tmp_path: Path) -> None:
    (tmp_path / "login.yaml").write_text(f"public_url: https://gpu.example.org\nexchange:{RULE}")
    found = read_login(tmp_path, owner="ada")
    assert found
    assert not found.has_provider
    (rule,) = found.exchange
    assert (rule.user, rule.role, rule.queue, rule.lasting_ms) == (
        "ci-research",
        "admin",
        "",
        3.6e6,
    )


def test_the_rules_of_the_documentation_are_accepted(tmp_path: Path) -> None:
    blocks = DOCS.read_text().split("```yaml\n")[1:]
    (block,) = (each.partition("```")[0] for each in blocks if "\nexchange:" in each)
    (tmp_path / "login.yaml").write_text(block)
    found = read_login(tmp_path, owner="ada")
    assert found
    assert [(each.user, each.queue) for each in found.exchange] == [
        *(("ci-research", ""), ("ci-speech", "speech"))
    ]


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "login.yaml").write_text(
        "client_id: ganglion\nidle: soon\npublic_url: http://gpu.example.org\nexchange:"
        f"{RULE}{RULE.replace('user: ci-research', 'user: ada')}"
        f"{RULE.replace('user: ci-research', 'user: a b')}    lasting: 25h\n"
        f"{RULE.replace('https', 'http')}    lasting: 0s\n"
        f"{RULE.replace('user: ci', 'usr: ci')}"
        f"{RULE}    role: king\n"
    )
    with pytest.raises(FieldError) as error:
        read_login(tmp_path, owner="ada")
    assert [each.key for each in error.value.errors] == [
        *("exchange[4]", "exchange[5]", "idle", "public_url", "issuer"),
        *("exchange[1].user", "exchange[2].user", "exchange[2].lasting"),
        *("exchange[3].issuer", "exchange[3].lasting"),
    ]
    assert all(each.file == str(tmp_path / "login.yaml") for each in error.value.errors)
    assert all(each.hint for each in error.value.errors)


def test_a_file_that_lets_no_one_in_is_refused(tmp_path: Path) -> None:
    (tmp_path / "login.yaml").write_text("public_url: https://gpu.example.org\nexchange: []\n")
    with pytest.raises(FieldError) as error:
        read_login(tmp_path)
    assert [each.key for each in error.value.errors] == ["exchange"]
