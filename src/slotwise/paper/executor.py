"""Run chunks on threads or on a Dask cluster. Both give the same numbers."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from slotwise.checks import BadInput, integer_at_least
from slotwise.extras import require
from slotwise.paper.chunks import Chunk, ChunkResult, is_compiled, run_chunk

CONNECT_TIMEOUT = 5  # seconds
RETRIES = 5  # how often a chunk is repeated if its worker is lost

OnDone = Callable[[Chunk, ChunkResult], None]
Pending = dict["Future[ChunkResult]", Chunk]


class Workers(NamedTuple):
    """Where chunks run: on `jobs` threads, by default one per core, or on the cluster whose scheduler is at `dask`."""

    jobs: int | None = None
    dask: str | None = None

    @property
    def threads(self) -> int:
        return os.cpu_count() or 1 if self.jobs is None else integer_at_least("jobs", self.jobs, least=1)

    @contextmanager
    def executor(self) -> Iterator[Executor]:
        if self.dask is None:
            with ThreadPoolExecutor(self.threads, thread_name_prefix="chunk") as pool:
                yield pool
            return
        client = _dask_client(self.dask)
        try:
            yield client.get_executor(retries=RETRIES, pure=False)
        finally:
            client.close()


def compile_ahead(policies: Iterable[str], jobs: int) -> None:
    """Compile policies in `jobs` processes, because within one process numba compiles one function at a time."""
    uncompiled = sorted({policy for policy in policies if not is_compiled(policy)})
    if len(uncompiled) < 2 or jobs < 2:
        return  # the first run compiles it just as fast
    code = "import sys; from slotwise.paper.chunks import compile_policies; compile_policies(sys.argv[1:])"
    groups = [uncompiled[k::jobs] for k in range(min(jobs, len(uncompiled)))]
    # in separate sessions, so that Ctrl-C reaches only this process, which then kills the others
    processes = [subprocess.Popen([sys.executable, "-c", code, *group], start_new_session=True) for group in groups]
    try:
        for process in processes:
            process.wait()  # after a failure here, the policy fails again when it runs, and reports the error
    except BaseException:
        for process in processes:
            process.kill()
        raise


def run_chunks(chunks: Sequence[Chunk], executor: Executor, on_done: OnDone) -> None:
    """Run the chunks and call `on_done` in this thread with each result as it arrives.

    On Ctrl-C, chunks that have not started are cancelled. Local chunks that are running finish within seconds, and
    their results are kept.
    """
    pending: Pending = {executor.submit(run_chunk, chunk): chunk for chunk in chunks}
    try:
        while pending:
            _collect(pending, on_done, executor)
    except KeyboardInterrupt:
        for future in [future for future in pending if future.cancel()]:
            del pending[future]
        while pending and isinstance(executor, ThreadPoolExecutor):
            _collect(pending, on_done, executor)
        raise
    except BaseException:
        for future in pending:
            future.cancel()
        raise


def _collect(pending: Pending, on_done: OnDone, executor: Executor) -> None:
    """Call `on_done` with the results that are ready."""
    ready, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
    for future in ready:
        chunk = pending.pop(future)
        try:
            result = future.result()
        except (Exception, CancelledError) as error:
            if isinstance(error, BadInput) or isinstance(executor, ThreadPoolExecutor):
                raise
            raise BadInput(
                f"the cluster failed: {str(error) or type(error).__name__}; "
                "finished chunks are stored, and the same command continues from there"
            ) from error
        if result.code != chunk.code:
            raise BadInput(
                "the workers of the cluster run another version of slotwise; install the version of this process there"
            )
        on_done(chunk, result)


def _dask_client(address: str) -> Any:
    require("cluster", "--dask")
    distributed: Any = import_module("distributed")
    try:
        return distributed.Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # a timeout is an OSError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"no Dask scheduler answers at {address!r}: {reason}") from None
