"""NVIDIA's management library: the one place that imports it.

A GPU may be lost, a driver reloaded and a process gone between two calls, and many models do not
answer every question. Such an answer is unknown; only the errors in `ABSENT` say that a device
is not there.
"""

from collections.abc import Callable
from typing import Any

import pynvml

BINDING: Any = pynvml
"""The library; a module without types. Tests put another one in its place."""

ABSENT = ("NVML_ERROR_NOT_FOUND", "NVML_ERROR_GPU_IS_LOST", "NVML_ERROR_RESET_REQUIRED")


def told(nvml: Any, question: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401 - no types
    """The answer to a question; None where the library, the driver or the model does not answer."""
    try:
        return question(*given)
    except nvml.NVMLError:
        return None


def says_absent(nvml: Any, error: Exception) -> bool:  # noqa: ANN401 - no types
    """Whether an error says that a device is not there, rather than that this is unknown."""
    code = getattr(error, "value", None)
    return code is not None and code in {getattr(nvml, name, None) for name in ABSENT}


class NvmlHandles:
    """Handles of devices, from a library that is opened when it is asked first.

    Args:
        nvml: the NVML binding.
    """

    def __init__(self, nvml: Any) -> None:  # noqa: ANN401 - a module without types
        self._nvml, self._is_open = nvml, False

    def of(self, uuid: str) -> Any:  # noqa: ANN401 - a handle without type
        """The device of an identifier of the vendor. Raises the NVMLError of the binding."""
        if not self._is_open:
            self._nvml.nvmlInit()
            self._is_open = True
        return self._nvml.nvmlDeviceGetHandleByUUID(uuid)

    def close(self) -> None:
        """Let the library go."""
        if self._is_open:
            self._is_open = False
            self._nvml.nvmlShutdown()
