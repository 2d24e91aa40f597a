"""A connection of HTTP: how much a caller may send before anybody reads it, one request at a time, and for how long.

uvicorn hands all that comes to its parser. That gathers a header, a name or a URL of any length, in quadratic time,
and makes a request of each head, however many come before the first answer is taken. Here what has come waits, at most
one read of the transport, until the request before it is answered; meanwhile nothing more is read.
"""

import orjson
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from serving.server.door import OPEN, RAW, Visitors, refuse_full

HEAD_BYTES = 64 << 10  # of a head; of a body in chunks, of all its lines and its trailer together
PER_BYTE = 8  # as many bytes of lines come with each byte of a body whose chunks are small
HEADERS = 100  # of a head, and of a head with its trailer
PIECE, PIECES = 4096, 16  # bytes of chunks that are parsed at once, and how many such before others have their turn
LINGER_SECONDS = 2.0  # in which a caller that is still sending sees why it is refused
END = b"\r\n\r\n"
HEAD_SECONDS = 15  # until the end of the head of a request, from its first byte or from the beginning of the connection
TAKING_SECONDS = 60  # in which a caller takes TAKEN bytes of an answer that waits for it, or all that is left
TAKEN = 1 << 20
PROBES = 0.5, 0.1, 2.0  # seconds until it is tried whether a caller who sends no more still reads, and tried again
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # which every caller of HTTP/1.1 must expect, and leave out


class TooLargeError(Exception):
    """A head has more headers than it may have."""


class Flow(FlowControl):
    """uvicorn's, which reads on only if what was read before is parsed, too."""

    is_held = full = False

    def pause_reading(self):
        self.full = True
        super().pause_reading()

    def resume_reading(self):
        self.full = False
        if not self.is_held:
            super().resume_reading()

    def hold(self, is_held):
        """Read nothing more, or let uvicorn decide again."""
        self.is_held = is_held
        if is_held:
            super().pause_reading()
        elif not self.full:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """uvicorn's connection, in bounds. It answers 431 to a head that is larger, and drops the connection.

    It has two clocks more than its own `timeout_keep_alive` of idle connections. One is for the head of each request,
    and for whatever else comes after an answer: uvicorn stops its clock at every byte, and starts it only at an answer,
    so that half a head, an empty line, or a part of a body that nobody reads would keep the connection for ever. The
    other is for answers that nobody takes: until they are taken, closing waits.

    A caller who has sent its requests and closes its half of the connection has its answers. One who has left looks the
    same until something is sent to it.

    Args:
        visitors: `Visitors`, in which it is counted.
    """

    head_timer = taking_timer = probe_timer = None
    excess = half_closed = False  # whether there is no room for it; whether its caller sends nothing more
    refused = False  # whether a refusal was sent; whatever comes after that is dropped

    def __init__(self, *args, visitors=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.visitors = visitors or Visitors()

    def connection_made(self, transport):
        super().connection_made(transport)
        self.flow = Flow(transport)
        self.unread = bytearray()  # what has come and is not parsed
        self.outside = 0  # bytes of this message that are not its body
        self.inside = 0  # bytes of its body
        self.left = None  # bytes of the body that are to come; None in a head, -1 in chunks
        self.count = 0  # headers
        self.whole = False  # whether all of it has come
        self._start_head_timer()
        self.excess = self.visitors.enter(self, self.client[0] if self.client else "")
        if self.excess is None:
            self.linger(RAW)

    def data_received(self, data):
        if not self.refused:
            self.unread += data
            self.parse()

    def parse(self):
        """Parse what has come, up to the end of a request that is not answered yet."""
        pieces = 0
        while self.unread and not self.refused and not self.transport.is_closing() and not self.answering:
            if pieces == PIECES:
                self.loop.call_soon(self.parse)
                break
            size = self._next_size()
            if size is None:
                self.refuse()
                break
            piece = bytes(self.unread[:size])
            del self.unread[:size]
            self.outside += size
            super().data_received(piece)
            if self.outside > HEAD_BYTES + PER_BYTE * self.inside and not self.transport.is_closing():
                self.refuse()
            pieces += 1
        if self.transport.is_closing():
            self.unread.clear()
        else:
            self.flow.hold(bool(self.unread) and not self.refused)
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._start_head_timer()
        if self.half_closed and not self.answering:
            self.transport.close()

    @property
    def answering(self):
        """Whether a whole request is here that has no answer yet."""
        return self.whole and not self.cycle.response_complete

    def _next_size(self):
        """How many bytes are parsed next: in a head at most to its end; None if it is too large."""
        if self.left is None:
            end = self.unread.find(END) + len(END)
            size = end if end >= len(END) else len(self.unread)
            return size if self.outside + size <= HEAD_BYTES else None
        return min(len(self.unread), PIECE if self.left < 0 else max(1, self.left))

    def on_message_begin(self):
        super().on_message_begin()
        self.whole, self.count, self.inside = False, 0, 0
        self._start_head_timer()

    def on_header(self, name, value):
        self.count += 1
        if self.count > HEADERS:
            raise TooLargeError
        if self.left is None:  # a trailer is no header
            super().on_header(name, value)

    def on_headers_complete(self):
        self._stop_head_timer()
        self.excess = self.excess and self.visitors.is_beyond(self)
        is_open = self.url.partition(b"?")[0].decode("ascii", "replace") in OPEN
        self.app = refuse_full if self.excess and not is_open else self.config.loaded_app
        super().on_headers_complete()
        lengths = {name: value for name, value in self.headers if name in (b"content-length", b"transfer-encoding")}
        self.left = -1 if b"transfer-encoding" in lengths else int(lengths.get(b"content-length", b"0"))
        if self.excess:
            self.cycle.keep_alive = False

    def on_body(self, body):
        super().on_body(body)
        self.outside -= len(body)
        self.inside += len(body)
        if self.left > 0:
            self.left -= len(body)

    def on_message_complete(self):
        super().on_message_complete()
        self.whole, self.left, self.outside = True, None, 0
        if self.answering:
            self.visitors.work(self)

    def on_response_complete(self):
        self.visitors.wait(self)
        super().on_response_complete()
        if self.unread:
            self.loop.call_soon(self.parse)
        elif self.half_closed:
            self.transport.close()
        self._watch_closing()

    def send_400_response(self, msg):
        if self.count > HEADERS:
            self.refuse()
        else:
            super().send_400_response(msg)
        self._watch_closing()

    def refuse(self):
        """Answer 431 and drop the connection."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if cycle.response_started or self.whole:  # it would stand in the middle of another answer
                self.refused = True
                self.unread.clear()
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        sentence = f"the head of a request may have {HEAD_BYTES >> 10} kB and {HEADERS} headers. Send a smaller one."
        content = orjson.dumps({"error": sentence})
        fields = (
            b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(content)
            + content
        )
        self.linger(STATUS_LINE[431] + fields)

    def linger(self, answer):
        """Send an answer and close, and drop what still comes for a while: its caller reads nothing before a reset."""
        self.refused = True
        self.unread.clear()
        self.transport.write(answer)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

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
