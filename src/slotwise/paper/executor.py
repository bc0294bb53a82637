"""Playing chunks, over threads or on a Dask cluster: the same numbers either way."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from slotwise.checks import BadInput, whole
from slotwise.paper.chunks import Chunk, Outcome, is_compiled, play_chunk

CONNECT_SECONDS = 5
RETRIES = 5  # of a chunk whose worker was lost

Done = Callable[[Chunk, Outcome], None]


def compile_ahead(policies: Iterable[str], jobs: int) -> None:
    """Compile policies in `jobs` processes at once: within one, numba compiles one function at a time."""
    cold = sorted({policy for policy in policies if not is_compiled(policy)})
    if len(cold) < 2 or jobs < 2:
        return  # as quickly done on the way
    code = "import sys; from slotwise.paper.chunks import compile_policies; compile_policies(sys.argv[1:])"
    groups = [cold[k::jobs] for k in range(min(jobs, len(cold)))]
    # apart from our own group, so that Ctrl-C is ours to pass on
    processes = [subprocess.Popen([sys.executable, "-c", code, *group], start_new_session=True) for group in groups]
    try:
        for process in processes:
            process.wait()  # a failure is found again, and told, when the policy is played
    except BaseException:
        for process in processes:
            process.kill()
        raise


def cores(jobs: int | None) -> int:
    """How many chunks to play at once: as many as asked for, else one on each core."""
    return os.cpu_count() or 1 if jobs is None else whole("jobs", jobs, least=1)


@contextmanager
def workers(jobs: int | None, dask: str | None) -> Iterator[Executor]:
    """Something that plays chunks: `jobs` threads (None: one for each core), or the cluster at an address."""
    if dask is None:
        with ThreadPoolExecutor(cores(jobs), thread_name_prefix="chunk") as pool:
            yield pool
        return
    client = _client(dask)
    try:
        yield client.get_executor(retries=RETRIES, pure=False)
    finally:
        client.close()


def play_all(chunks: Sequence[Chunk], executor: Executor, done: Done) -> None:
    """Play the chunks; `done` is called here, in this thread, with each as it comes in.

    When stopped, what has not begun is dropped, and what is under way is waited for and kept: a few seconds.
    """
    waiting: dict[Future[Outcome], Chunk] = {executor.submit(play_chunk, chunk): chunk for chunk in chunks}
    try:
        while waiting:
            _collect(waiting, done, executor)
    except KeyboardInterrupt:
        for future in [future for future in waiting if future.cancel()]:
            del waiting[future]
        while waiting and isinstance(executor, ThreadPoolExecutor):
            _collect(waiting, done, executor)
        raise
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


def _collect(waiting: dict[Future[Outcome], Chunk], done: Done, executor: Executor) -> None:
    """Take in the chunks that are ready."""
    ready, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
    for future in ready:
        chunk = waiting.pop(future)
        try:
            outcome = future.result()
        except (Exception, CancelledError) as error:
            if isinstance(error, BadInput) or isinstance(executor, ThreadPoolExecutor):
                raise
            told = f"the cluster failed: {str(error) or type(error).__name__}"
            raise BadInput(f"{told}; what is done is kept, the same command goes on from there") from error
        if outcome.code != chunk.code:
            raise BadInput("the workers of the cluster run another version of slotwise; give them the one that is here")
        done(chunk, outcome)


def _client(address: str) -> Any:
    """A client of the Dask scheduler at the address."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise BadInput("--dask needs Dask: pip install 'slotwise[cluster]'") from None
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # a time-out is an OSError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"no Dask scheduler answers at {address!r}: {reason}") from None
