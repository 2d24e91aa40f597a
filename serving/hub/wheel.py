"""A published model as a wheel of Python: `pip install` of it, and `seqzoo run NAME` answers offline.

The wheel holds data alone: a hub of one model in the folder of a package, which the entry point group `seqzoo_models`
names. The same files give the same bytes.
"""

import json
import re
from pathlib import Path

from serving.export.wheel_file import pack
from serving.hub.facts import own_version
from serving.hub.published import read_published
from zoo.core.escaping import in_line, in_markdown
from zoo.core.storage import write_bytes
from zoo.hub import index as hub_index
from zoo.hub.places import GROUP


def package(folder, entry, out):
    """Write the wheel of a published version to the folder `out`, and return its path.

    Args:
        folder: the files of the version.
        entry: of the index.
        out: a folder, which is made where there is none.

    Raises:
        DamagedError: a file has other bytes than the entry says; nothing is written.
    """
    word = re.sub(r"[^a-z0-9]+", "_", entry["name"]).strip("_")
    project, module = f"seqzoo_{word}", f"seqzoo_model_{word}"
    version = str(entry["version"])
    info = f"{project}-{version}.dist-info"
    index = {"format": hub_index.FORMAT, "models": [entry]}
    hub_index.check_index(index)
    home = f"{module}/hub"
    members = {f"{module}/__init__.py": f'"""The model {entry["name"]} of seqzoo: data alone."""\n'.encode()}
    members[f"{home}/{hub_index.INDEX}"] = (json.dumps(index, indent=1, ensure_ascii=False) + "\n").encode()
    for name in sorted(entry["files"]):
        members[f"{home}/{entry['name']}/{version}/{name}"] = read_published(
            folder, name, entry, "; no wheel was written"
        )
    members[f"{info}/METADATA"] = _metadata(entry, project).encode()
    members[f"{info}/entry_points.txt"] = f"[{GROUP}]\n{entry['name']} = {module}\n".encode()
    path = Path(out) / f"{project}-{version}-py3-none-any.whl"
    content = pack(info, members)
    write_bytes(path, content)
    return path


def _metadata(entry, project):
    """METADATA, format 2.4; what follows the blank line is the description."""
    licences = entry["data_licence"] if isinstance(entry["data_licence"], str) else "; ".join(entry["data_licence"])
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project.replace('_', '-')}",
        f"Version: {entry['version']}",
        f"Summary: {in_line(' '.join(entry['description'].split()))}",
        f"License-Expression: {entry['licence']}",
        "Requires-Python: >=3.11",
        f"Requires-Dist: seqzoo{own_version()}",
        "Description-Content-Type: text/markdown",
        "",
        f"The model {hub_index.title(entry)} of seqzoo. After installation `seqzoo run {entry['name']} TEXT` answers.",
        "",
        in_markdown(f"Weights: {entry['licence']}. Data: {entry['data']}, {licences}. {entry['attribution']}"),
    ]
    return "\n".join(lines) + "\n"
