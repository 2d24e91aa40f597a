"""Protocol buffers in text form, from dicts: what servers read as their configuration."""


def prototext(message, indent=0):
    """The text of a message.

    Args:
        message: `{field: value}`. A value is a dict (a message), a list (a repeated field), a `Word` (an enum), a
            string, a bool or a number.
        indent: the number of spaces before each line.
    """
    return "".join(_field(name, value, indent) for name, value in message.items())


class Word(str):
    """The name of a value of an enum, which has no quotes."""


def _field(name, value, indent):
    space = " " * indent
    if isinstance(value, list):
        return "".join(_field(name, each, indent) for each in value)
    if isinstance(value, dict):
        return f"{space}{name} {{\n{prototext(value, indent + 2)}{space}}}\n"
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, str) and not isinstance(value, Word):
        escaped = "".join(  # every byte that is not printable ASCII as an octal escape
            {'"': '\\"', "\\": "\\\\"}.get(chr(byte)) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
            for byte in value.encode()
        )
        value = f'"{escaped}"'
    return f"{space}{name}: {value}\n"
