"""Versions of MLflow in the folder for models: whole, checked, and of their own source alone."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ganglion.api.reasons import ModelKept
from ganglion.server.models import asking
from ganglion.server.models.cache.sources import SUMS
from ganglion.server.models.mlflow.artifacts import PROXY
from tests.server.models.registry import FakeRegistry, fake_registry
from tests.server.models.test_cache import content, fetched
from tests.server.models.weights import CARD, FOLDER, WEIGHTS, caching, listed, rewrite, tracked

FILES = {"MLmodel": CARD, "data/w 1.bin": WEIGHTS, "data/code/__init__.py": b""}
WHERE = f"{PROXY}/{FOLDER}"


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        yield made


def trouble(home: Path, fake: FakeRegistry, **version: str) -> str:
    """Why the version is not kept."""
    with caching(home, fake) as cache:
        reading = fetched(cache, tracked_as(version))
    assert reading.state == "failed"
    assert not [*(home.parent / "models" / "whole").iterdir()]
    return reading.trouble


def tracked_as(version: dict[str, str]) -> Any:
    return tracked(FakeRegistry(), {}, **version)


def test_a_version_is_kept_with_all_its_files_and_found_by_its_folder(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    home = tmp_path / "home"
    with caching(home, fake) as cache:
        rewrite(home, "mlflow: {", "mlflow: {token: secret:T, ")
        cache._resolver.client._secret = {"T": "t0ken"}.get
        model = tracked(fake, FILES)
        size = len(CARD) + len(WEIGHTS)
        assert fetched(cache, model) == ModelKept("cached", size, size)
        assert content(cache.path_of(model)) == FILES
        assert cache.holds() == {model.digest: 1}
    assert {sent for _, sent in fake.asked} == {"Bearer t0ken"}
    assert (f"{WHERE}/data/w%201.bin", "Bearer t0ken") in fake.asked


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [('"e1"', '"e1"', 1), ('"e1"', '"e2"', 0), ('W/"e1"', 'W/"e1"', 0), ("", "", 0)],
)
def test_a_break_is_gone_on_after_only_where_the_file_is_the_same(
    tmp_path: Path,
    fake: FakeRegistry,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    after: str,
    parts: int,
) -> None:
    path, answer = f"{WHERE}/w.bin", fake.answer
    last = WEIGHTS if parts else bytes(reversed(WEIGHTS))
    model = tracked(fake, {"w.bin": WEIGHTS})

    def then(at: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        tag, file = (before, WEIGHTS) if fake.breaks else (after, last)
        fake.files[path] = ({"ETag": tag} if tag else {}, file)
        return answer(at, query)

    monkeypatch.setattr(fake, "answer", then)
    fake.breaks = [100_000]
    with caching(tmp_path / "home", fake) as cache:
        assert fetched(cache, model).state == "cached"
        assert content(cache.path_of(model)) == {"w.bin": last}
    assert fake.ranges == ["bytes=100000-"] * parts


def test_what_an_earlier_try_left_of_other_files_is_no_part_of_the_model(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    home = tmp_path / "home"
    tracked(fake, {"a": CARD, "b": WEIGHTS})
    fake.files[f"{WHERE}/b"] = ({}, CARD)
    assert "b came with" in trouble(home, fake)
    assert [*(tmp_path / "models").rglob("a")]
    model = tracked(fake, {"b": WEIGHTS})
    with caching(home, fake) as cache:
        assert fetched(cache, model).state == "cached"
        assert content(cache.path_of(model)) == {"b": WEIGHTS}


def test_a_server_that_stops_sending_is_left_alone_in_time(
    tmp_path: Path, fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "STALLED_S", 0.05)
    fake.silent_after = True
    tracked(fake, FILES)
    assert "127.0.0.1 has sent nothing of a file for 0.05 s" in trouble(tmp_path / "home", fake)


def test_files_of_a_second_server_are_fetched_where_the_owner_names_it(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    model, home = tracked(fake, FILES), tmp_path / "home"
    with fake_registry() as other:
        tracked(other, FILES)
        for place in (
            f"mlflow-artifacts://{other.url.removeprefix('http://')}/{FOLDER}",
            f"{other.url}{WHERE}",
        ):
            fake.place = place
            with caching(home, fake) as cache:
                assert "not at the tracking server; where that is right" in (
                    fetched(cache, model).trouble
                )
        assert not other.asked
        with caching(home, fake) as cache:
            rewrite(home, "mlflow: {", f"mlflow: {{artifacts: '{other.url}', ")
            assert fetched(cache, model).state == "cached"
            assert content(cache.path_of(model)) == FILES


Change = Callable[[FakeRegistry], object]


def into(folder: str = FOLDER, **entry: object) -> Change:
    """A listing with one more entry."""
    return lambda fake: listed(fake, folder, **entry)


def sums(text: str) -> Change:
    """A list of digests among the files."""
    return lambda fake: tracked(fake, FILES | {SUMS: text.encode()})


def both(fake: FakeRegistry) -> None:
    listed(fake, FOLDER, path="MLmodel", is_dir=True)
    listed(fake, f"{FOLDER}/MLmodel", path="x", is_dir=False)


def crowded(fake: FakeRegistry) -> None:
    fake.listings[FOLDER] = [{"path": f"file-{number}"} for number in range(100_000)]


def endless(fake: FakeRegistry) -> None:
    class Folders(dict[str, list[dict[str, Any]]]):
        def get(self, key: str, default: Any = None) -> Any:
            return [{"path": "again", "is_dir": True}]

    fake.listings = Folders()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fake: fake.version.update(source="s3://b/4"), "is another one by now"),
        (lambda fake: fake.version.update(status="PENDING_REGISTRATION"), "PENDING_REGISTRATION"),
        (lambda fake: setattr(fake, "place", None), "does not answer as its API should"),
        (lambda fake: setattr(fake, "place", "gs://b/x"), "its files lie at gs://b/x; files are"),
        (lambda fake: setattr(fake, "place", "models:/m-1"), "its files lie at models:/m-1; files"),
        (lambda fake: setattr(fake, "place", "mlflow-artifacts:/0/../1"), "no folder"),
        (lambda fake: setattr(fake, "place", "mlflow-artifacts:/0?x=1"), "no folder"),
        (lambda fake: setattr(fake, "place", "ftp://u:pw@h.example/0"), "at ftp://h.example/0;"),
        (lambda fake: setattr(fake, "place", "mlflow-artifacts://h:1/0"), "`artifacts` of"),
        (lambda fake: setattr(fake, "place", "https://h.example/0"), "not at the tracking server"),
        (lambda fake: fake.listings.clear(), "has 0 files"),
        (lambda fake: fake.listings[FOLDER].append(7), "does not answer as its API should"),
        (into(path="../x"), "'../x'"),
        (into(path="/etc/passwd"), "'/etc/passwd'"),
        (into(path="a\0b"), r"'a\x00b'"),
        (into(path="\udc80"), "API should"),
        (into(path=".."), "'..'"),
        (into(path="..", is_dir=True), "'..'"),
        (into(path="n" * 256), "'nnn"),
        (into(path="MLmodel", file_size=7), "two files of one name"),
        (both, "'MLmodel/x' below a file"),
        (into(path="x", file_size=-1), "of -1 bytes"),
        (into(path="x", file_size="many"), "API should"),
        (into(path="x", file_size=5), "x is not in the registry any more"),
        (crowded, "has 100,000 files and folders in it: too many"),
        (endless, "more than 20 deep"),
        (lambda fake: fake.files.update({f"{WHERE}/MLmodel": ({}, CARD[1:])}), "came with"),
        (lambda fake: fake.files.update({f"{WHERE}/MLmodel": ({}, CARD + b"?")}), "more than its"),
        (lambda fake: setattr(fake, "status", 404), "models:/chat/3 is not there"),
        (lambda fake: setattr(fake, "status", 401), "refuses the server"),
        (lambda fake: setattr(fake, "status", 503), "answers HTTP 503"),
        (lambda fake: setattr(fake, "body", b"<html>"), "does not answer as its API should"),
        (sums("MLmodel"), "is no list of digests; write it anew"),
        (sums(f"{'0' * 64}  gone"), "has no 'gone', which its SHA256SUMS names"),
        (sums(f"{'0' * 64} *MLmodel"), "other bytes than its digest says"),
    ],
)
def test_what_cannot_be_kept_is_said(
    tmp_path: Path, fake: FakeRegistry, change: Change, said: str
) -> None:
    tracked(fake, FILES)
    change(fake)
    found = trouble(tmp_path / "home", fake)
    assert said in found
    assert "pw@" not in found
    assert not [*tmp_path.rglob("passwd"), *tmp_path.rglob("x")]


def test_a_version_whose_files_lie_in_a_bucket_is_kept_from_there(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    model = tracked(fake, {})
    fake.place = "s3://bucket/m"
    fake.files["/bucket/m/w.bin"] = ({"ETag": '"e1"'}, WEIGHTS)
    fake.files["/bucket/m/sub/c"] = ({"ETag": '"e2"'}, CARD)
    fake.objects = [f"m/w.bin {len(WEIGHTS)} e1", f"m/sub/c {len(CARD)} e9"]
    with caching(tmp_path / "home", fake) as cache:
        assert "sub/c of models:/chat/3 is another one" in fetched(cache, model).trouble
    fake.objects[1] = f"m/sub/c {len(CARD)} e2"
    with caching(tmp_path / "home", fake) as cache:
        assert fetched(cache, model).state == "cached"
        assert content(cache.path_of(model)) == {"w.bin": WEIGHTS, "sub/c": CARD}
    fake.objects.clear()
    (tmp_path / "other").mkdir()
    assert "s3://bucket/m/ is not there" in trouble(tmp_path / "other" / "home", fake)


def shared(folder: Path, fake: FakeRegistry) -> Path:
    """A version whose files lie in a folder of this machine."""
    made = folder / "shared" / "the model"
    (made / "sub").mkdir(parents=True)
    (made / "w.bin").write_bytes(WEIGHTS)
    (made / "sub" / "c").write_bytes(CARD)
    tracked(fake, {})
    fake.place = made.as_uri()
    return made


@pytest.mark.parametrize("as_uri", [True, False])
def test_a_version_whose_files_lie_on_this_machine_is_copied(
    tmp_path: Path, fake: FakeRegistry, as_uri: bool
) -> None:
    made = shared(tmp_path, fake)
    fake.place = made.as_uri() if as_uri else str(made)
    digest = sha256(WEIGHTS).hexdigest()
    (made / SUMS).write_text(f"{digest} *w.bin\n")
    with caching(tmp_path / "home", fake) as cache:
        model = tracked_as({})
        assert fetched(cache, model).state == "cached"
        path = cache.path_of(model)
    assert content(path) == content(str(made))
    (made / "w.bin").write_bytes(CARD)
    assert Path(path, "w.bin").read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: (made / SUMS).write_text(f"{'0' * 64}  w.bin"), "w.bin came with other"),
        (lambda made: (made / SUMS).write_text(f"{'0' * 64}  gone"), "cannot be read: No such"),
        (lambda made: made.rename(made.parent / "away"), "the model cannot be read: No such file"),
        (lambda made: (made / "sub").rename(made.parent.parent / "sub"), ""),
        (lambda made: (made / "link").symlink_to("/etc/passwd"), "link is a link; models lie in"),
        (lambda made: made.parent.rename(made.parents[1] / "other"), "cannot be read: No such"),
    ],
)
def test_of_a_folder_of_this_machine_it_is_said_what_is_wrong(
    tmp_path: Path, fake: FakeRegistry, change: Callable[[Path], object], said: str
) -> None:
    made = shared(tmp_path, fake)
    change(made)
    with caching(tmp_path / "home", fake) as cache:
        rewrite(tmp_path / "home", "mlflow: {", f"files: ['{made.parent}']\nmlflow: {{")
        reading = fetched(cache, tracked_as({}))
        assert (reading.state == "failed") is bool(said)
        assert said in reading.trouble
    assert not [*(tmp_path / "models").rglob("passwd")]
