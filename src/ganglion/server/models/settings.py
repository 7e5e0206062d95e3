"""Which registries of models this home asks: `models.yaml` in it, read whenever one is asked."""

from pathlib import Path

import msgspec
import yaml
from msgspec import Struct, field

from ganglion.model.errors import FieldError, FileError
from ganglion.seams.files import Files
from ganglion.specs.grammar.quantities import MIB, parse_memory
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.specs.grammar.words import parse_secret_reference

FILE = "models.yaml"
LEAST_MS, MOST_MS = 100, 600_000
"""How long one answer may take, and the pause between two rounds of questions: the bounds."""
MOST_AT_ONCE = 16
"""Models that may be fetched at a time."""


class HttpRegistry(Struct, frozen=True, forbid_unknown_fields=True):
    """A registry that is asked over HTTP.

    Attributes:
        url: where it is, without a path of its API.
        token: `secret:NAME` of a bearer token; empty = none is sent.
        user: name for HTTP Basic; empty = none is sent.
        password: `secret:NAME` of its password.
    """

    url: str
    token: str = ""
    user: str = ""
    password: str = ""


class TrackingServer(HttpRegistry, frozen=True, forbid_unknown_fields=True):
    """A tracking server of MLflow with its registry of models.

    Attributes:
        artifacts: where the server is that has the artifacts; empty = at `url`.
    """

    artifacts: str = ""


class OciHost(HttpRegistry, frozen=True, forbid_unknown_fields=True):
    """A registry of OCI artifacts.

    Attributes:
        auth: where the server of tokens is that the registry names; empty = at `url`.
    """

    auth: str = ""


class ObjectStore(Struct, frozen=True, forbid_unknown_fields=True):
    """An object store that speaks S3, buckets in the path.

    Attributes:
        url: where it is.
        region: that requests are signed for.
        access_key: id of the key; empty = requests are not signed.
        secret_key: `secret:NAME` of the key.
    """

    url: str
    region: str = "us-east-1"
    access_key: str = ""
    secret_key: str = ""


class CacheSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where models are kept on the machine of the server.

    Attributes:
        folder: an absolute path, of one server alone.
        limit: most that lies there, as `500GiB`; empty = what the disk has.
        rate: most that is fetched in a second, as `100MiB`; `0` = as much as comes.
        at_once: models that are fetched at a time.
        accounts: whether programs of other accounts than the server's get models too.
    """

    folder: str
    limit: str = ""
    rate: str = "100MiB"
    at_once: int = 2
    accounts: bool = False

    @property
    def limit_bytes(self) -> int:
        """`limit` in bytes; 0 = there is none."""
        return parse_memory(self.limit) * MIB if self.limit else 0

    @property
    def rate_bytes(self) -> int:
        """`rate` in bytes; 0 = there is none."""
        return parse_memory(self.rate) * MIB


class ModelSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The file.

    Attributes:
        mlflow: for `models:/`.
        hf: for `hf://`.
        oci: host as references name it -> registry, for `oci://`.
        s3: for `s3://`.
        files: folders that `file://` may lie in; empty = any, where programs run as the account
            of the server and so read the same files.
        deadline: most time that one reference may take, as `10s`.
        every: pause between two looks at references that may move, as `1m`.
        cache: where models are kept; None = none are.
    """

    mlflow: TrackingServer | None = None
    hf: HttpRegistry | None = None
    oci: dict[str, OciHost] = field(default_factory=dict)
    s3: ObjectStore | None = None
    files: tuple[str, ...] = ()
    deadline: str = "10s"
    every: str = "1m"
    cache: CacheSettings | None = None

    @property
    def deadline_ms(self) -> int:
        """`deadline` in ms."""
        return parse_duration(self.deadline)

    @property
    def every_ms(self) -> int:
        """`every` in ms."""
        return parse_duration(self.every)


def read_model_settings(home: Path, files: Files) -> ModelSettings:
    """Read the settings of a home; without the file, no registry is known.

    Raises:
        FileError: the file is not what it should be.
    """
    path = home / FILE
    try:
        written = yaml.safe_load(files.read(path).decode("utf-8")) or {}
        found = msgspec.convert(written, ModelSettings)
        _check(found)
    except FileNotFoundError:
        return ModelSettings()
    except FieldError as error:
        raise FileError(f"{path}: {error.message}", error.hint) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise FileError(f"{path}: {error}", "see docs/models.md") from error
    return found


def _check(found: ModelSettings) -> None:
    """Raises FieldError where a value is none of its kind."""
    others = {f"oci.{host}": each for host, each in found.oci.items()}
    for key, each in {"mlflow": found.mlflow, "hf": found.hf, **others}.items():
        if each:
            _check_secret(each.token, f"{key}.token")
            _check_secret(each.password, f"{key}.password")
            _check_url(each.url, f"{key}.url")
            if isinstance(each, OciHost) and each.auth:
                _check_url(each.auth, f"{key}.auth")
            if isinstance(each, TrackingServer) and each.artifacts:
                _check_url(each.artifacts, f"{key}.artifacts")
    if found.s3:
        _check_secret(found.s3.secret_key, "s3.secret_key")
        _check_url(found.s3.url, "s3.url")
    if found.cache:
        _check_cache(found.cache)
    for key in ("deadline", "every"):
        try:
            length = parse_duration(getattr(found, key))
        except FieldError as error:
            raise FieldError(error.problem, key=key, hint=error.hint) from error
        if not LEAST_MS <= length <= MOST_MS:
            raise FieldError("is out of bounds", key=key, hint="from 100ms to 10m, as `10s`")


def _check_cache(found: CacheSettings) -> None:
    if not Path(found.folder).is_absolute() or len(Path(found.folder).parts) < 2:
        hint = "as /var/cache/models, a folder for nothing else"
        raise FieldError("is no absolute path of a folder", key="cache.folder", hint=hint)
    if not 1 <= found.at_once <= MOST_AT_ONCE:
        raise FieldError(
            "is out of bounds", key="cache.at_once", hint=f"from 1 to {MOST_AT_ONCE} models"
        )
    for key, text in (("limit", found.limit or "1GiB"), ("rate", found.rate)):
        try:
            amount = parse_memory(text)
        except FieldError as error:
            raise FieldError(error.problem, key=f"cache.{key}", hint=error.hint) from error
        if key == "limit" and not amount:
            hint = "as `500GiB`; leave the key `cache` out to keep no models"
            raise FieldError("is nothing", key="cache.limit", hint=hint)


def _check_secret(text: str, key: str) -> None:
    try:
        _ = parse_secret_reference(text) if text else ""
    except FieldError as error:
        raise FieldError(error.problem, key=key, hint=error.hint) from error


def _check_url(text: str, key: str) -> None:
    if not text.startswith(("http://", "https://")) or "@" in text:
        hint = "as https://models.example.org; credentials are `token`, or `user` and `password`"
        raise FieldError("is no URL of http or https", key=key, hint=hint)
