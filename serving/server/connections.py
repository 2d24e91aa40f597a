"""A connection of HTTP that is closed if its caller does not send a whole request head, or take an answer, in time."""

from serving.server.heads import Bounded

HEAD_SECONDS = 15  # until the end of the head of a request, from its first byte or from the beginning of the connection
TAKING_SECONDS = 60  # in which a caller takes TAKEN bytes of an answer that waits for it, or all that is left
TAKEN = 1 << 20


class Connection(Bounded):
    """A connection in bounds, with two clocks more than its own `timeout_keep_alive` of idle connections.

    One is for the head of each request, and for whatever else comes after an answer: uvicorn stops its clock at every
    byte, and starts it only at an answer, so that half a head, an empty line, or a part of a body that nobody reads
    would keep the connection for ever. The other is for answers that nobody takes: until they are taken, closing waits.
    """

    head_timer = taking_timer = None

    def connection_made(self, transport):
        super().connection_made(transport)
        self._start()

    def parse(self):
        super().parse()
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._start()

    def on_message_begin(self):
        super().on_message_begin()
        self._start()

    def on_headers_complete(self):
        self._stop()
        super().on_headers_complete()

    def on_response_complete(self):
        super().on_response_complete()
        self._closing()

    def send_400_response(self, msg):
        super().send_400_response(msg)
        self._closing()

    def timeout_keep_alive_handler(self):
        super().timeout_keep_alive_handler()
        self._closing()

    def pause_writing(self):
        super().pause_writing()
        self._wait_for_taking()

    def resume_writing(self):
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_waiting()

    def connection_lost(self, exc):
        self._stop()
        self._stop_waiting()
        super().connection_lost(exc)

    def _start(self):
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _stop(self):
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _late(self):
        self.head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
        self._closing()

    def _closing(self):
        if self.transport.is_closing():
            self._wait_for_taking()

    def _wait_for_taking(self):
        if self.taking_timer is None:
            left = self.transport.get_write_buffer_size()
            self.taking_timer = self.loop.call_later(TAKING_SECONDS, self._taken, left)

    def _stop_waiting(self):
        if self.taking_timer is not None:
            self.taking_timer.cancel()
            self.taking_timer = None

    def _taken(self, before):
        """Go on waiting if enough was taken since `before` bytes were left."""
        self.taking_timer = None
        if before - self.transport.get_write_buffer_size() >= TAKEN:
            self._wait_for_taking()
        else:
            self.transport.abort()
