"""Models that are fetched into a folder: whole, checked, within limits, and used."""

import asyncio
import errno
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from ganglion.api.reasons import ModelKept
from ganglion.model.workload import ResolvedModel
from ganglion.seams import acl
from ganglion.seams.effects import SYSTEM
from ganglion.server.models.cache import folder as folders
from ganglion.server.models.cache.cache import ModelCache
from ganglion.server.models.cache.download import FetchRate
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth, at_every_call
from tests.server.models.registry import COMMIT, FakeRegistry, fake_registry
from tests.server.models.weights import AT, CARD, HF, WEIGHTS, caching, hub, rewrite
from tests.server.process import until


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with fake_registry() as made:
        hub(made, {"README.md": CARD, "sub/weights.bin": WEIGHTS})
        yield made


def fetched(cache: ModelCache, model: ResolvedModel = HF) -> ModelKept:
    """What is known of a model once it is there, or failed."""
    cache.want([model])

    def found() -> ModelKept | None:
        reading = cache.reading(model)
        return reading if reading and reading.state in ("cached", "failed", "off") else None

    return until(found)


def content(path: str) -> dict[str, bytes]:
    """All files below a folder."""
    found = (each for each in Path(path).rglob("*") if each.is_file())
    return {str(each.relative_to(path)): each.read_bytes() for each in found}


def test_a_repository_is_whole_before_a_program_gets_its_path(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    fake.silent_after = True
    with caching(tmp_path / "home", fake) as cache:
        assert cache.reading(HF) == ModelKept("absent")
        cache.want([HF])
        assert fake.begun.wait(10)
        until(lambda: (cache.reading(HF) or ModelKept("")).of)
        assert (cache.reading(HF) or ModelKept("")).state == "fetching"
        assert (cache.path_of(HF), cache.holds()) == ("", {})
        fake.leave.set()
        size = len(WEIGHTS) + len(CARD)
        assert fetched(cache) == ModelKept("cached", size, size)
        path = cache.path_of(HF)
        assert content(path) == {"README.md": CARD, "sub/weights.bin": WEIGHTS}
        assert cache.holds() == {HF.digest: 1}
        assert cache.path_of(HF, uid=12345) == ""  # of other accounts the file says nothing
    with caching(tmp_path / "home", fake) as again:
        assert again.path_of(HF) == path
        Path(path, "README.md").unlink()
        assert again.path_of(HF) == ""


@pytest.mark.parametrize(("resumes", "parts"), [(True, 2), (False, 0)])
def test_what_breaks_off_is_gone_on_with_or_begun_anew(
    tmp_path: Path, fake: FakeRegistry, resumes: bool, parts: int
) -> None:
    fake.breaks, fake.resumes = [len(CARD), 100_000, 50_000], resumes
    with caching(tmp_path / "home", fake) as cache:
        assert fetched(cache).state == "cached"
        assert content(cache.path_of(HF))["sub/weights.bin"] == WEIGHTS
    assert len(fake.ranges) == parts


def test_a_server_that_ended_goes_on_where_it_was(tmp_path: Path, fake: FakeRegistry) -> None:
    fake.breaks = [len(CARD), 100_000, 0, 0]
    with caching(tmp_path / "home", fake) as cache:
        assert "received 0 bytes, expected 600000" in fetched(cache).trouble
    fake.ranges.clear()
    with caching(tmp_path / "home", fake) as cache:
        assert fetched(cache).state == "cached"
    assert fake.ranges == ["bytes=100000-"]
    assert [path for path, _ in fake.asked].count(f"{AT}/README.md") == 1


def test_wrong_bytes_are_said_and_never_kept(tmp_path: Path, fake: FakeRegistry) -> None:
    for name, good in (("README.md", CARD), ("sub/weights.bin", WEIGHTS)):
        fake.files[f"{AT}/{name}"] = ({}, good[:-1] + b"?")
        with caching(tmp_path / "home", fake) as cache:
            assert "other bytes than its digest says" in fetched(cache).trouble
            assert cache.path_of(HF) == ""
        fake.files[f"{AT}/{name}"] = ({}, good)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fake: setattr(fake, "status", 500), "HTTP 500"),
        (lambda fake: setattr(fake, "status", 403), "refuses the server"),
        (lambda fake: fake.files.pop(f"{AT}/README.md"), "not in the registry any more"),
        (lambda fake: hub(fake, {"../a": b"a"}), "'../a'"),
        (lambda fake: hub(fake, {"a//b": b"a"}), "'a//b'"),
        (lambda fake: hub(fake, {}), "0 files"),
    ],
)
def test_what_a_registry_does_not_give_is_said(
    tmp_path: Path, fake: FakeRegistry, change: Callable[[FakeRegistry], None], said: str
) -> None:
    change(fake)
    with caching(tmp_path / "home", fake) as cache:
        assert said in fetched(cache).trouble
    assert not [*tmp_path.rglob("a")]


def test_a_silent_registry_is_left_alone_in_time(tmp_path: Path, fake: FakeRegistry) -> None:
    fake.silent = True
    with caching(tmp_path / "home", fake, deadline="100ms") as cache:
        assert "was not found out within 100ms" in fetched(cache).trouble


def test_one_that_fails_stops_no_other(tmp_path: Path, fake: FakeRegistry) -> None:
    gone = replace(HF, uri=f"hf://org/gone@{COMMIT}")
    other = replace(HF, uri="models:/chat/3", digest="record-sha256:0")
    with caching(tmp_path / "home", fake, ", at_once: 1") as cache:
        cache.want([gone, other, HF])
        until(lambda: cache.path_of(HF))
        troubles = [(cache.reading(each) or ModelKept("")).trouble for each in (gone, other)]
        assert "is not there" in troubles[0]
        assert "is another one by now" in troubles[1]


def s3_model(fake: FakeRegistry) -> tuple[ResolvedModel, ResolvedModel]:
    """A folder of a bucket, and an object in it with a SHA-256."""
    check = b64encode(sha256(WEIGHTS).digest()).decode()
    named = {"ETag": '"e1"', "x-amz-checksum-sha256": check, "x-amz-version-id": "v1"}
    fake.files["/bucket/m/w.bin"] = (named, WEIGHTS)
    fake.files["/bucket/m/sub/c"] = ({"ETag": '"e2"', "x-amz-version-id": "v2"}, CARD)
    fake.objects = [f"m/w.bin {len(WEIGHTS)} e1 v1", f"m/sub/c {len(CARD)} e2 v2"]
    digest = f"sha256-base64:{check}"
    one = ResolvedModel("s3://bucket/m/w.bin", "s3://bucket/m/w.bin?versionId=v1", "v1", digest)
    entries = sorted(tuple(each.split()) for each in fake.objects)
    listing = sha256(json.dumps(entries, separators=(",", ":")).encode()).hexdigest()
    whole = f"listing-sha256:{listing}"
    return ResolvedModel("s3://bucket/m/", "s3://bucket/m/", "", whole), one


def test_objects_of_a_store_are_kept_by_version_and_digest(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    folder, one = s3_model(fake)
    fake.breaks = [len(CARD), 100_000]
    with caching(tmp_path / "home", fake) as cache:
        for each in (folder, one):
            assert fetched(cache, each).state == "cached"
        assert content(cache.path_of(folder)) == {"w.bin": WEIGHTS, "sub/c": CARD}
        assert Path(cache.path_of(one)).read_bytes() == WEIGHTS  # a file, not a folder
    assert fake.ranges == ["bytes=100000-"]
    fake.objects[1] = f"m/sub/c {len(CARD)} e3 v3"
    fake.files["/bucket/m/w.bin"] = ({"ETag": '"e9"'}, WEIGHTS)
    (tmp_path / "third").mkdir()
    with caching(tmp_path / "third" / "home", fake) as cache:
        for each in (folder, one):
            assert "another one by now" in fetched(cache, each).trouble


def oci_model(fake: FakeRegistry, title: str = "w.bin") -> ResolvedModel:
    """An artifact of one file."""
    blob = f"sha256:{sha256(WEIGHTS).hexdigest()}"
    named = {"org.opencontainers.image.title": title} if title else {}
    layer = {"digest": blob, "size": len(WEIGHTS), "annotations": named}
    body = json.dumps({"schemaVersion": 2, "layers": [layer]}).encode()
    digest = f"sha256:{sha256(body).hexdigest()}"
    head = {"Docker-Content-Digest": digest}
    fake.files[f"/v2/team/chat/manifests/{digest}"] = (head, body)
    fake.files[f"/v2/team/chat/blobs/{blob}"] = ({}, WEIGHTS)
    return ResolvedModel(
        "oci://reg.example/team/chat:v3", f"oci://reg.example/team/chat@{digest}", "v3", digest
    )


def test_an_artifact_is_kept_by_the_names_of_its_layers(tmp_path: Path, fake: FakeRegistry) -> None:
    with caching(tmp_path / "home", fake) as cache:
        found = oci_model(fake)
        assert fetched(cache, found).state == "cached"
        assert content(cache.path_of(found)) == {"w.bin": WEIGHTS}
        assert "container image" in fetched(cache, oci_model(fake, "")).trouble


def test_where_a_registry_redirects_to_no_credentials_go(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    with fake_registry() as store:
        store.files["/w"] = ({}, WEIGHTS)
        path = f"{AT}/sub/weights.bin"
        fake.moved[path] = f"{store.url}/w"
        home = tmp_path / "home"
        with caching(home, fake) as cache:
            rewrite(home, "hf: {", "hf: {token: secret:T, ")
            cache._resolver.client._secret = {"T": "t0ken"}.get
            assert fetched(cache).state == "cached"
        assert (path, "Bearer t0ken") in fake.asked
        assert store.asked == [("/w", "")]


def models(fake: FakeRegistry, count: int) -> list[ResolvedModel]:
    """Artifacts of 0.7 MB each."""
    return [oci_model(fake, f"w{number}.bin") for number in range(count)]


def test_what_was_used_longest_ago_goes_first_and_never_what_is_in_use(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    first, second, third, fourth = models(fake, 4)
    with caching(tmp_path / "home", fake, ", limit: 2MiB") as cache:
        for each in (first, second):
            assert fetched(cache, each).state == "cached"
            cache._effects.clock.sleep(1)
        assert cache.path_of(first)  # so that it was used last
        assert fetched(cache, third).state == "cached"
        assert [bool(cache.path_of(each)) for each in (first, second, third)] == [True, False, True]
        store = cache.store()
        assert store
        assert (store.limit, {each.uri for each in store.models}) == (
            2 << 20,
            {first.uri, third.uri},
        )
        assert {each.bytes for each in store.models} == {len(WEIGHTS)}
        cache.use([first, third])
        assert "do not fit: what lies there is in use" in fetched(cache, fourth).trouble
        assert cache.path_of(first)
        cache.use([first])
        cache.want([])
        until(lambda: (cache.reading(fourth) or ModelKept("")).state == "absent")
        assert fetched(cache, fourth).state == "cached"
        assert [bool(cache.path_of(each)) for each in (first, third)] == [True, False]
    hub(fake, {"w.bin": 2 * WEIGHTS})
    with caching(tmp_path / "home", fake, ", limit: 1MiB") as cache:
        assert fetched(cache).trouble == "1.3 MiB are more than the limit of 1.0 MiB"


def test_a_folder_is_of_one_server_and_of_its_account_alone(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    with caching(tmp_path / "home", fake), caching(tmp_path / "other", fake) as other:
        reading = other.reading(HF)
        assert reading
        assert "in use by another server" in reading.trouble
        store = other.store()
        assert store
        assert (store.models, store.trouble) == ((), reading.trouble)
        assert other.path_of(HF) == ""
    (tmp_path / "models").chmod(0o777)
    with caching(tmp_path / "home", fake) as cache:
        assert "other accounts may write" in (cache.reading(HF) or ModelKept("")).trouble


def test_other_accounts_enter_the_models_that_they_were_let_into_and_no_others(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    first, second = models(fake, 2)
    with caching(tmp_path / "home", fake, ", accounts: true") as cache:
        for each in (first, second):
            assert fetched(cache, each).state == "cached"
        path = Path(cache.path_of(first, uid=12345))
        other = Path(cache.path_of(second))
    assert acl.users_of(path.parent) == {12345: acl.READ | acl.PASS}
    assert acl.users_of(other.parent) == {}
    assert [each.stat().st_mode & 0o777 for each in (other.parent, other)] == [0o700, 0o755]
    assert [each.stat().st_mode & 0o777 for each in other.parents[1:3]] == [0o711, 0o711]
    assert {each.stat().st_mode & 0o777 for each in other.iterdir()} == {0o444}


def test_a_disk_that_is_full_keeps_nothing_half_and_has_its_room_back(
    tmp_path: Path, fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects = SYSTEM._replace(files=FaultyFiles(Nth(0), room=folders.SPARE + 1_000))
    with caching(tmp_path / "home", fake, effects=effects) as cache:
        assert "the disk has no room" in fetched(cache).trouble
    files = FaultyFiles(Nth(1, "write", stays=True), among="part-")
    with caching(tmp_path / "home", fake, effects=SYSTEM._replace(files=files)) as cache:
        assert "No space left" in fetched(cache).trouble
    assert not [*(tmp_path / "models" / "partial").iterdir()]
    with caching(tmp_path / "home", fake) as cache:
        assert fetched(cache).state == "cached"


def test_whatever_call_fails_a_model_is_whole_or_not_there(
    tmp_path: Path, fake: FakeRegistry
) -> None:
    hub(fake, {"README.md": CARD})
    numbers = iter(range(10_000))

    def story(plan: Nth) -> None:
        home = tmp_path / f"{next(numbers)}" / "home"
        home.parent.mkdir()
        files = FaultyFiles(plan, errno.EIO, among=str(home.parent / "models"))
        with caching(home, fake, effects=SYSTEM._replace(files=files)) as cache:
            reading = fetched(cache)
            assert reading.state == "cached" or "rror" in reading.trouble
            path = cache.path_of(HF)
            assert not path or content(path) == {"README.md": CARD}
        with caching(home, fake) as cache:
            path = cache.path_of(HF)
            assert not path or content(path) == {"README.md": CARD}
            assert fetched(cache).state == "cached"
            assert content(cache.path_of(HF)) == {"README.md": CARD}

    assert at_every_call(story) > 20


def test_all_downloads_together_keep_to_a_rate() -> None:
    clock = HandClock()
    rate, begun = FetchRate(clock), clock.monotonic()
    for _ in range(8):
        asyncio.run(rate.spend(1 << 20, 4 << 20))
    assert clock.monotonic() - begun == 2
    asyncio.run(rate.spend(1 << 30, 0))
    assert clock.monotonic() - begun == 2
