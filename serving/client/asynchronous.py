"""`AsyncClient`: the same client for programs of asyncio."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from serving.client.client import Client
from serving.client.patience import Cancellation


class AsyncClient:
    """A model on a server, for asyncio. Requests are sent by threads of its own, as many as it has connections.

    If the task that waits for `run` is cancelled, its requests are broken off, and the server learns of it.

    Args: as of `serving.client.Client`. `connections` bounds the requests of all callers together.

    Raises: as of `serving.client.Client`.
    """

    def __init__(self, url: str, name: str, **settings: Any) -> None:
        self.client = Client(url, name, **settings)
        self._pool = ThreadPoolExecutor(self.client.connections, "seqzoo-client")

    async def run(self, texts: Sequence[str | Sequence[str]], **options: Any) -> list[Any]:
        """The results, as of `serving.client.Client.run`."""
        loop, cancellation, waiting = asyncio.get_running_loop(), Cancellation(), []
        try:
            work = await loop.run_in_executor(self._pool, self.client.plan, texts, options, cancellation)
            waiting = [
                loop.run_in_executor(self._pool, self.client.answer, work, place, cancellation)
                for place in range(len(work.requests))
            ]
            return work.join(await asyncio.gather(*waiting))
        except BaseException:
            cancellation.cancel()
            for future in waiting:
                future.cancel()
            raise

    async def close(self) -> None:
        """Close the connections. Requests that are under way are broken off by their deadlines alone."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
