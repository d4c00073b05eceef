"""Values from whatever scheduler of Dask there is, and words where no worker is left to compute them."""

from collections.abc import Callable
from typing import Any

from dask.base import compute, get_scheduler
from dask.delayed import delayed

from ngmca.engines.blocks import SUMS_AT_ONCE

MAX_SECONDS_WITHOUT_WORKERS = 30.0  # after which the cluster counts as stopped
SECONDS_BETWEEN_LOOKS = 2.0  # for workers


class NoWorkersError(RuntimeError):
    """There is nobody left to compute."""


def tree(parts: list[Any], join: Callable[[Any], Any]) -> Any:
    """One delayed value out of many, SUMS_AT_ONCE at a time, as `blocks.summed` does it."""
    while len(parts) > 1:
        lots = (parts[i : i + SUMS_AT_ONCE] for i in range(0, len(parts), SUMS_AT_ONCE))
        parts = [delayed(join, pure=False)(lot) for lot in lots]
    return parts[0]


def gathered(parts: list[Any]) -> list[Any]:
    """The values of delayed ones."""
    return list(value(delayed(list)(parts)))


def value(part: Any) -> Any:
    """The value of what is delayed; an error says so when there is nobody left to compute it."""
    client = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "scheduler_info"):
        return compute(part)[0]
    return _awaited(client, part)


def _awaited(client: Any, part: Any) -> Any:
    """The same on a cluster, whose workers may all be gone."""
    import asyncio
    from concurrent.futures import CancelledError

    from distributed.comm.core import CommClosedError

    future, without = client.compute(part), 0.0
    # `future.result(timeout=...)` cancels its own request when the time is over, and can then fail with
    # an UnboundLocalError. One request that stays open while workers are looked for cannot.
    answer = asyncio.run_coroutine_threadsafe(
        client.gather(future, asynchronous=True), client.loop.asyncio_loop
    )
    try:
        while True:
            try:
                return answer.result(timeout=SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                if answer.done():  # in this moment, or with a timeout of its own
                    return answer.result()
            workers = client.scheduler_info(n_workers=-1)["workers"]
            without = 0.0 if workers else without + SECONDS_BETWEEN_LOOKS
            if without > MAX_SECONDS_WITHOUT_WORKERS:
                future.cancel()
                answer.cancel()
                raise NoWorkersError(_gone("all its workers are gone"))
    except (CancelledError, CommClosedError) as error:
        raise NoWorkersError(_gone(f"it does not answer any more ({type(error).__name__})")) from error


def _gone(why: str) -> str:
    return (
        f"the Dask cluster stopped: {why}. The work since the last checkpoint is lost. Resume from it "
        "with checkpoint=Checkpoint(path, resume=True), on a cluster with workers."
    )
