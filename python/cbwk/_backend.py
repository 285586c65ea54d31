"""Where numbers are computed."""

from __future__ import annotations

from typing import Any, Literal, Optional

from ._native import adapters

Backend = Literal["auto", "cpu", "gpu"]
"""A real GPU if it is likely faster, else the CPU; the CPU; or any graphics adapter."""

Precision = Literal["f32", "f64"]
"""32 bits (about six digits) or 64 bits. By default the CPU computes in 64 bits and an adapter in 32."""

AskedBackend = tuple[str, Optional[str], Optional[str]]


def asked_backend(backend: str, precision: str | None = None, adapter: str | None = None) -> AskedBackend:
    """Backend, precision and adapter for the engine, which checks their values."""
    for name, value in (("backend", backend), ("precision", precision), ("adapter", adapter)):
        if not (isinstance(value, str) or (value is None and name != "backend")):
            raise ValueError(f"{name}: found {value!r:.60}; accepted: a text")
    return backend, precision, adapter


def devices() -> list[dict[str, Any]]:
    """The graphics adapters of this machine, the best first, as ``cbwk-gpu devices`` lists them.

    ``adapter`` is the number by which ``adapter=`` takes one (a part of its ``name`` also does), ``precisions`` what
    ``precision=`` may be there, ``unusable`` why it cannot be used, if so, and ``auto`` whether ``backend="auto"`` would try it.

    >>> import cbwk
    >>> all(set(device["precisions"]) <= {"f32", "f64"} for device in cbwk.devices())
    True
    """
    return adapters()
