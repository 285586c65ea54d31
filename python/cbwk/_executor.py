"""Studies on executors: shards of replications run there, and are merged here."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import RunResults
from ._progress import Progress, watched

if TYPE_CHECKING:
    from ._backend import AskedBackend
    from ._study import Study

PATIENCE = 0.2
"""Seconds to wait for shards that were asked to stop."""


def run_shards(
    study: Study,
    executor: Executor,
    folder: str | None,
    command: str,
    changes: dict[str, Any],
    backend: AskedBackend,
    threads: int | None,
    progress: Progress,
) -> RunResults:
    """Runs a study in up to four shards per worker; the bytes do not depend on their number.

    After Ctrl-C shards that can see this machine's temporary files stop early, and the finished ones are kept in the folder.
    """
    start = time.perf_counter()
    if folder is not None:
        _native.check_folder(folder)
    replications = int(changes.get("replications") or study.replications)
    count = max(1, min(replications, 4 * workers(executor)))
    # One thread per worker, unless the caller asks for more.
    shared = {"backend": backend, "threads": threads or 1}
    tasks: list[Future[str]] = []
    place = tempfile.mkdtemp(prefix="cbwk-")
    unwanted = os.path.join(place, "unwanted")
    with watched(progress, study.name) as tell:
        try:
            for index in range(1, count + 1):
                tasks.append(executor.submit(run_shard, study, index, count, changes, dict(shared, unwanted=unwanted)))
            for done, task in enumerate(as_completed(tasks), 1):
                task.result()
                if tell is not None:
                    tell(done * replications // count, replications)
        except BaseException:
            Path(unwanted).touch()
            # A process pool that Ctrl-C has broken cannot cancel tasks; its shards stop by themselves.
            if not isinstance(executor, ProcessPoolExecutor):
                for task in tasks:
                    task.cancel()
            if not wait(tasks, PATIENCE).not_done:
                shutil.rmtree(place, ignore_errors=True)
            found = [task.result() for task in tasks if task.done() and not task.cancelled() and not task.exception()]
            if folder is not None and found:
                _native.keep_shards(study._source, changes, found, out=folder, command=command, backend=backend)
            raise
    shutil.rmtree(place, ignore_errors=True)
    found_all = _native.merge_shards(
        study._source,
        changes,
        [task.result() for task in tasks],
        command=command,
        seconds=time.perf_counter() - start,
    )
    if folder is not None:
        found_all.save(folder)
    return found_all


def run_shard(study: Study, index: int, count: int, changes: dict[str, Any], options: dict[str, Any]) -> str:
    """Runs a shard in this process."""
    return _native.run_shard(study._source, changes, index, count, **options)


def workers(executor: Executor) -> int:
    """The number of workers of an executor, if it can be found."""
    for name in ("_max_workers", "max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    client = getattr(executor, "_client", None)
    if client is not None:
        return max(1, int(sum(client.nthreads().values())))
    return os.cpu_count() or 1
