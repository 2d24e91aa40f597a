"""Files of every format, written here by the csv and json modules or kept as other tools wrote them (`written/`)."""

import csv
import io
import json


def delimited(rows, delimiter=",", end="\n", **style):
    """Rows as the csv module writes them."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, **style).writerows(rows)
    return out.getvalue()


def json_lines(records):
    """Records as the json module writes them, one a line."""
    return "".join(json.dumps(record) + "\n" for record in records)


def write(path, data):
    """Write a text in UTF-8, or bytes as they are; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
