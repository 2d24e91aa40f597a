"""A connection of HTTP that is closed if its caller does not send a whole request head, or take an answer, in time."""

from serving.server.heads import Bounded
from serving.server.visitors import OPEN, RAW, Visitors, refuse_full

HEAD_SECONDS = 15  # until the end of the head of a request, from its first byte or from the beginning of the connection
TAKING_SECONDS = 60  # in which a caller takes TAKEN bytes of an answer that waits for it, or all that is left
TAKEN = 1 << 20
PROBES = 0.5, 0.1, 2.0  # seconds until it is tried whether a caller who sends no more still reads, and tried again
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # which every caller of HTTP/1.1 must expect, and leave out


class Connection(Bounded):
    """A connection in bounds, with two clocks more than its own `timeout_keep_alive` of idle connections.

    One is for the head of each request, and for whatever else comes after an answer: uvicorn stops its clock at every
    byte, and starts it only at an answer, so that half a head, an empty line, or a part of a body that nobody reads
    would keep the connection for ever. The other is for answers that nobody takes: until they are taken, closing waits.

    A caller who has sent its requests and closes its half of the connection has its answers. One who has left looks the
    same until something is sent to it.

    Args:
        visitors: `Visitors`, in which it is counted.
    """

    head_timer = taking_timer = probe_timer = None
    excess = half_closed = False  # whether there is no room for it; whether its caller sends nothing more

    def __init__(self, *args, visitors=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.visitors = visitors or Visitors()

    def connection_made(self, transport):
        super().connection_made(transport)
        self._start_head_timer()
        self.excess = self.visitors.enter(self, self.client[0] if self.client else "")
        if self.excess is None:
            self.linger(RAW)

    def parse(self):
        super().parse()
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._start_head_timer()
        if self.half_closed and not self.answering:
            self.transport.close()

    def on_message_begin(self):
        super().on_message_begin()
        self._start_head_timer()

    def on_headers_complete(self):
        self._stop_head_timer()
        self.excess = self.excess and self.visitors.is_beyond(self)
        is_open = self.url.partition(b"?")[0].decode("ascii", "replace") in OPEN
        self.app = refuse_full if self.excess and not is_open else self.config.loaded_app
        super().on_headers_complete()
        if self.excess:
            self.cycle.keep_alive = False

    def on_message_complete(self):
        super().on_message_complete()
        if self.answering:
            self.visitors.work(self)

    def on_response_complete(self):
        self.visitors.wait(self)
        super().on_response_complete()
        if self.half_closed and not self.unread:
            self.transport.close()
        self._watch_closing()

    def eof_received(self):
        """Keep the connection open as long as a request is to be answered."""
        self.half_closed = True
        if self.refused or not self.answering:
            return False
        self.probe_timer = self.loop.call_later(PROBES[0], self._probe, *PROBES[1:])
        return True

    def _probe(self, soon, later):
        """Send what makes the system of a caller who has left say so, at the latest when something is sent again."""
        if not self.transport.is_closing() and self.answering and not self.cycle.response_started:
            if self.cycle.scope["http_version"] == "1.1":
                self.transport.write(CONTINUE)
            self.probe_timer = self.loop.call_later(soon, self._probe, later, later)

    def send_400_response(self, msg):
        super().send_400_response(msg)
        self._watch_closing()

    def timeout_keep_alive_handler(self):
        super().timeout_keep_alive_handler()
        self._watch_closing()

    def pause_writing(self):
        super().pause_writing()
        self._start_taking_timer()

    def resume_writing(self):
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_taking_timer()

    def connection_lost(self, exc):
        self.visitors.leave(self)
        if self.probe_timer is not None:
            self.probe_timer.cancel()
        self._stop_head_timer()
        self._stop_taking_timer()
        super().connection_lost(exc)

    def _start_head_timer(self):
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(HEAD_SECONDS, self._close_late)

    def _stop_head_timer(self):
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _close_late(self):
        self.head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
        self._watch_closing()

    def _watch_closing(self):
        if self.transport.is_closing():
            self._start_taking_timer()

    def _start_taking_timer(self):
        if self.taking_timer is None:
            left = self.transport.get_write_buffer_size()
            self.taking_timer = self.loop.call_later(TAKING_SECONDS, self._check_taken, left)

    def _stop_taking_timer(self):
        if self.taking_timer is not None:
            self.taking_timer.cancel()
            self.taking_timer = None

    def _check_taken(self, before):
        """Go on waiting if enough was taken since `before` bytes were left."""
        self.taking_timer = None
        if before - self.transport.get_write_buffer_size() >= TAKEN:
            self._start_taking_timer()
        else:
            self.transport.abort()
