"""Progress of a study: the caller's function, a tqdm bar, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

Tell = Callable[[int, int], Any]
Progress = Optional[Union[bool, Tell]]


@contextmanager
def watched(progress: Progress, name: str) -> Iterator[Tell | None]:
    """The function that the engine calls with (done, all), if any."""
    if progress is False:
        yield None
        return
    if progress is not None and progress is not True:
        if not callable(progress):
            raise ValueError(f"progress: found {progress!r:.60}; accepted: a function, True, False or None")
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        if progress is True:
            raise ValueError("progress: found True; accepted: a function (tqdm is not installed)") from None
        yield None
        return
    # `disable=None` hides the bar unless the output is a terminal.
    with tqdm(total=0, desc=name, unit=" episodes", disable=None if progress is None else False, leave=False) as bar:
        if bar.disable:
            yield None
            return

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield tell
