"""A connection of HTTP that is closed if its caller does not send a whole request head in time."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 15  # until the end of the head of a request, from its first byte or from the beginning of the connection


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with a clock for the head of each request: without one, a caller that sends half a head
    keeps the connection for ever. Idle connections between requests have uvicorn's own `timeout_keep_alive`."""

    head_timer = None

    def connection_made(self, transport):
        super().connection_made(transport)
        self._start()

    def on_message_begin(self):
        super().on_message_begin()
        self._start()

    def on_headers_complete(self):
        self._stop()
        super().on_headers_complete()

    def connection_lost(self, exc):
        self._stop()
        super().connection_lost(exc)

    def _start(self):
        if self.head_timer is None:
            self.head_timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._late)

    def _stop(self):
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _late(self):
        self.head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
