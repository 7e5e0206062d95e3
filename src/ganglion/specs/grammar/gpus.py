"""The GPU grammars in people's fingers, all into one `GpuRequest`.

H100:8   8   0.5   A100:80GB:4   T4:0.5     SkyPilot and dstack; parts in any order
nvidia:H100,A100:24GB..:2                   dstack: vendor, models, memory, count
gpu:h100:4   gpu:4                          Slurm --gres
{nvidia.com/gpu: 8}   500m                  Kubernetes
{memory: 10GB}                              a share of one device, as memory
[H100:8, A100:8]                            any of these, the first preferred
"""

import re
from fractions import Fraction

from msgspec import structs

from ganglion.model.errors import FieldError
from ganglion.model.resources import WHOLE, GpuRequest
from ganglion.specs.grammar.quantities import MAX_MEMORY_MIB, memory_of, parse_memory, print_memory
from ganglion.specs.grammar.scalars import parse_decimal, parse_text, parse_whole
from ganglion.specs.wording import meant, show

MAX_GPUS = 1024
VENDORS = {"nvidia", "amd", "intel", "google", "huawei", "tenstorrent"}
KEYS = ("count", "type", "min_memory", "memory")
KEY_ALIASES = {"name": "type", "types": "type", "model": "type"}
TWICE = {
    "count": "gives two numbers of GPUs",
    "memory": "gives two sizes of memory",
    "model": "names two models; separate alternatives by a comma",
}
_HINT = "write `8`, `H100:8`, `A100:80GB:4`, `0.5` or `{memory: 10GB}`"
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_NUMBER = re.compile(r"[0-9]{1,400}(\.[0-9]{0,400})?m?|\.[0-9]{1,400}")

Shown = str | int | dict[str, object]


def parse_gpus(value: object) -> GpuRequest:
    """Read a GPU request in any of the grammars of this module."""
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, list):
        return _choice([_read(item) for item in value])
    return _read(value)


def _read(value: object) -> GpuRequest:
    if isinstance(value, bool):
        raise FieldError(f"expected a number of GPUs, found {show(value)}", hint=_HINT)
    text = parse_text(value, _HINT).strip()
    parts = [part.strip() for part in text.split(":")]
    if len(parts) > 1 and parts[0].lower() in ("gpu", "gres/gpu"):
        parts = parts[1:]
    return _Parts(text).all(parts)


def parse_type(value: object) -> str:
    """Return a device type in its canonical spelling, upper case as `H100`."""
    text = parse_text(value).strip()
    if not _TYPE.fullmatch(text):
        raise FieldError(f"{show(value)} is not the name of a GPU model", hint="as `H100` or `T4`")
    return text.upper()


def print_gpus(request: GpuRequest) -> Shown:
    """Print the canonical form: `8`, `H100:8`, `A100:80GB:4`, `0.5`, or a mapping for a share."""
    if request.share_mib:
        return _print_share(request)
    amount = str(request.count) if request.milli == WHOLE else _fraction(request.milli)
    if not request.types and not request.min_memory_mib:
        return int(amount) if amount.isdigit() else amount
    memory = [print_memory(request.min_memory_mib)] if request.min_memory_mib else []
    return ":".join([*([",".join(request.types)] if request.types else []), *memory, amount])


class _Parts:
    """Collects the parts of one text, each of which may be given once and in any order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, GpuRequest] = {}
        self.vendor = ""

    def all(self, parts: list[str]) -> GpuRequest:
        for part in parts:
            self._read(part)
        amount = self.found.get("count", GpuRequest(count=1))
        types = self.found.get("model", amount).types
        memory = self.found.get("memory", amount).min_memory_mib
        if self.vendor not in ("", "nvidia") and not types:
            hint = f"name the model too, as `{self.vendor}:MI300X:8`"
            raise FieldError(f"{show(self.text)} names a vendor but no GPU model", hint=hint)
        if not amount.count:
            return GpuRequest()
        return structs.replace(amount, types=types, min_memory_mib=memory)

    def _read(self, part: str) -> None:
        if part.lower() in VENDORS:
            self.vendor = part.lower()
        elif _NUMBER.fullmatch(part):
            self._add("count", _amount(part))
        elif (memory := self._memory(part)) is not None:
            self._add("memory", GpuRequest(min_memory_mib=memory))
        else:
            self._add("model", GpuRequest(types=self._types(part)))

    def _add(self, what: str, request: GpuRequest) -> None:
        if what in self.found:
            raise FieldError(f"{show(self.text)} {TWICE[what]}", hint=_HINT)
        self.found[what] = request

    def _memory(self, part: str) -> int | None:
        low, dots, high = part.partition("..")
        if dots and (high or not low):
            raise self._range(low, high)
        mib = memory_of(low.removesuffix("+"))
        if mib is not None and not 0 < mib <= MAX_MEMORY_MIB:
            raise FieldError(f"{show(part)} is no memory size of a GPU", hint=_HINT)
        return mib

    def _range(self, low: str, high: str) -> FieldError:
        if memory_of(low or high) is None:
            return FieldError(
                f"the GPUs of one node cannot be a range, found {show(self.text)}",
                hint="ask for what one node needs and let `nodes: 2..4` stretch",
            )
        return FieldError(
            f"{show(self.text)} bounds the memory of a GPU from above",
            hint="only a minimum can be asked for, as `24GB..`; name models to exclude others",
        )

    def _types(self, part: str) -> tuple[str, ...]:
        names = [name.strip() for name in part.split(",")]
        if not all(_TYPE.fullmatch(name) for name in names):
            raise FieldError(self._problem(part), hint=_HINT)
        return tuple(dict.fromkeys(name.upper() for name in names))

    def _problem(self, part: str) -> str:
        if part.startswith("-") and _NUMBER.fullmatch(part[1:]):
            return f"a number of GPUs cannot be negative, found {show(self.text)}"
        bad = f" ({show(part)})" if part and part != self.text else ""
        return f"{show(self.text)} is not a GPU request{bad}"


def _amount(text: str) -> GpuRequest:
    number = parse_decimal(text.removesuffix("m"), "a number of GPUs", _HINT)
    milli = number if text.endswith("m") else number * WHOLE
    if milli > MAX_GPUS * WHOLE:
        raise FieldError(f"{show(text)} GPUs in one node are too many", hint=f"most: {MAX_GPUS}")
    if milli % WHOLE == 0:
        return GpuRequest(count=int(milli // WHOLE))
    return GpuRequest(count=1, milli=_part(milli, text))


def _part(milli: Fraction, text: str) -> int:
    if milli > WHOLE:
        near = int(milli // WHOLE)
        hint = f"write `{near}` or `{near + 1}`; only below one may it be a fraction"
        raise FieldError(f"{show(text)} is more than one GPU but not whole", hint=hint)
    if milli.denominator != 1:
        hint = f"write `{_fraction(max(1, int(milli)))}`"
        raise FieldError(f"{show(text)} is finer than a thousandth of a GPU", hint=hint)
    return int(milli)


def _fraction(milli: int) -> str:
    return f"0.{milli:03d}".rstrip("0")


def _choice(options: list[GpuRequest]) -> GpuRequest:
    if not options:
        raise FieldError("the list of GPUs is empty", hint=_HINT)
    types = tuple(dict.fromkeys(each for option in options for each in option.types))
    plain = {structs.replace(option, types=()) for option in options}
    if len(plain) > 1 or not all(option.types for option in options):
        raise FieldError(
            "every choice must name a model and ask for the same number, share and memory",
            hint="write `[H100:8, A100:8]`",
        )
    return structs.replace(plain.pop(), types=types)


def _mapping(given: dict[str, object]) -> GpuRequest:
    if len(given) == 1 and "/" in (key := str(next(iter(given)))):
        return kubernetes(key, given[key])
    if not given:
        raise FieldError("the mapping of GPUs is empty", hint=_HINT)
    found: dict[str, object] = {}
    for key, value in given.items():
        name = KEY_ALIASES.get(key, key)
        if name not in KEYS:
            hint = meant(str(key), [*KEYS, *KEY_ALIASES]) or f"known: {', '.join(KEYS)}"
            raise FieldError(f"unknown key {show(key)}", key=str(key), hint=hint)
        if name in found:
            raise FieldError(f"`{name}` is given twice under different names", key=key)
        found[name] = value
    return _built(found)


def kubernetes(resource: str, value: object) -> GpuRequest:
    """Read an extended resource of Kubernetes, as `nvidia.com/gpu` with 8."""
    if resource != "nvidia.com/gpu":
        mig = "mig-" in resource
        hint = "ask for a share, as `{memory: 20GB}`" if mig else "name a model, as `MI300X:8`"
        raise FieldError(f"the resource {show(resource)} is not known", key=resource, hint=hint)
    return _read(value)


def _built(found: dict[str, object]) -> GpuRequest:
    types = _type_list(found["type"]) if "type" in found else ()
    least = parse_memory(found["min_memory"]) if "min_memory" in found else 0
    if "memory" in found:
        return _share(found, types, least)
    amount = _Parts("").all([parse_text(found.get("count", 1)).strip()])
    if amount.types or amount.min_memory_mib:
        raise FieldError(f"{show(found['count'])} is not a number of GPUs", key="count")
    if not amount.count:
        return GpuRequest()
    return structs.replace(amount, types=types, min_memory_mib=least)


def _share(found: dict[str, object], types: tuple[str, ...], least: int) -> GpuRequest:
    if parse_whole(found.get("count", 1), 0, MAX_GPUS) != 1:
        raise FieldError(
            "`memory` asks for a share of one GPU, so `count` cannot be more than 1",
            key="memory",
            hint="for whole GPUs with at least that much memory write `min_memory`",
        )
    share = parse_memory(found["memory"])
    if not share:
        raise FieldError("a share of a GPU must be more than nothing", key="memory")
    return GpuRequest(count=1, share_mib=share, types=types, min_memory_mib=least)


def _type_list(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else parse_text(value).split(",")
    return tuple(dict.fromkeys(parse_type(name) for name in names))


def _print_share(request: GpuRequest) -> dict[str, object]:
    shown: dict[str, object] = {"memory": print_memory(request.share_mib)}
    if request.types:
        shown["type"] = list(request.types)
    if request.min_memory_mib:
        shown["min_memory"] = print_memory(request.min_memory_mib)
    return shown
