"""Protocol buffers, read and written field by field, whatever version of the library others have installed."""


def fields(message):
    """(number, the whole field, its content) of each field of a message in protobuf's wire format.

    Raises:
        ValueError: the bytes are no such message, or end within a field.
    """
    at = 0
    while at < len(message):
        start = at
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == 2:
            size, at = _read_varint(message, at)
        elif kind == 0:
            size = _read_varint(message, at)[1] - at
        else:
            size = {1: 8, 5: 4}.get(kind, len(message))
        if at + size > len(message) or tag < 8:  # no field has the number 0
            raise ValueError(f"The {len(message)} bytes are no protocol buffer, or one that was cut off.")
        yield tag >> 3, message[start : at + size], message[at : at + size]
        at += size


def field(number, content):
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer_field(number, value):
    """A field of a whole number, not negative."""
    return varint(number << 3) + varint(value)


def varint(value):
    """A whole number, not negative, in seven bits a byte."""
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def read_integer(content):
    """The number in the content of a field of `whole`."""
    return _read_varint(content, 0)[0]


def _read_varint(message, at):
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError(f"The {len(message)} bytes are no protocol buffer, or one that was cut off.")
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
