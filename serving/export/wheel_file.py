"""The file of a wheel: the same members give the same bytes, whoever writes them and when."""

import base64
import hashlib
import io
import zipfile

TIME = (1980, 1, 1, 0, 0, 0)  # of every member
WHEEL = b"Wheel-Version: 1.0\nGenerator: seqzoo\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def pack(info, members):
    """The bytes of a wheel of Python code and data.

    Args:
        info: the name of its folder `NAME-VERSION.dist-info`.
        members: `{name: bytes}`; WHEEL and RECORD are added.
    """
    members = members | {f"{info}/WHEEL": WHEEL}
    members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, TIME)
            member.external_attr, member.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return buffer.getvalue()


def _record(members, own):
    rows = []
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*rows, f"{own},,"]).encode() + b"\n"
