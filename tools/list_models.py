"""The models that `seqzoo list` shows: the newest version of each name that the hubs have."""

import logging

from zoo.hub.base import HubError
from zoo.hub.index import choose, run_files
from zoo.hub.places import is_offline, places, read_entries, unlocated_models

from .screen import escape

log = logging.getLogger("seqzoo.hub")
FIRST = (  # the keys of a record that everybody may rely on; the others of the index follow
    *("name", "version", "system", "cell", "attention", "feedforward", "block", "depth", "task", "languages", "bytes"),
    *("licence", "data_licence", "scores", "parity"),
)
LOW = ("nats_per_character", "bits_per_character", "nats_per_byte", "bits_per_byte", "wer", "per", "perplexity", "mae")
MAIN = (
    "bleu",
    "chrf",
    "exact_match",
    "entity_f1",
    "accuracy",
    "macro_f1",
    *LOW,
    "spearman",
)  # by which models are sorted


def models():
    """A record of each model, in the order of the hubs: its entry, `run_bytes` and `hub`.

    `run_bytes` are those of the files that `seqzoo run` needs. Of a name that several hubs have, the first one's is
    taken; versions that were withdrawn are left out. A hub that cannot be read is left out, with a warning.
    """
    records = {}
    for hub in places():
        try:
            entries = read_entries(hub, is_offline())
        except HubError as error:
            log.warning("the models of a hub are left out: %s", error)
            continue
        for name in dict.fromkeys(each["name"] for each in entries if each["withdrawn"] is None):
            entry = choose(entries, name)
            more = {"run_bytes": sum(entry["bytes"][file] for file in run_files(entry)), "hub": hub.address}
            records.setdefault(name, {key: entry[key] for key in FIRST} | entry | more)
    return list(records.values())


def describe_unplaced(records):
    """A sentence about the models of this package's own hub that cannot be had, because nobody says where it is."""
    names = [name for name in unlocated_models() if name not in {each["name"] for each in records}]
    if not names:
        return ""
    return (
        f"{len(names)} more models, of all tasks, such as {', '.join(names[-3:])}, are in seqzoo's own hub, whose "
        "address is not known here: set SEQZOO_HUB to its folder or address."
    )


def fits(record, task=None, language=None, licence=None, max_size=None):
    """Whether a recipe or a model is what is asked for. A recipe has no files and no licence of weights."""
    if task and task != record["task"]:
        return False
    if language and language.lower() not in [each.lower() for each in record["languages"]]:
        return False
    if licence and licence.lower() != record.get("licence", "").lower():
        return False
    return max_size is None or record.get("run_bytes", max_size + 1) <= max_size


def main_score(record):
    """The name of the score by which a model is sorted, or None where it has none."""
    return next((name for name in MAIN if isinstance(record["scores"].get(name), int | float)), None)


def sort_key(record, by):
    """A key for sorting: by "score" within each task, or by "speed" or "size", smallest first; unknown ones last."""
    if by == "score":
        main = main_score(record)
        if main is None:
            return record["task"], len(MAIN), 0.0
        value = float(record["scores"][main])
        return record["task"], MAIN.index(main), value if main in LOW else -value
    speed = record.get("speed")
    value = (speed and speed["milliseconds"]) if by == "speed" else record.get("run_bytes")
    return value is None, value or 0


def table(records, brief):
    """The rows of a table; `brief` writes scores."""
    rows = [("NAME", "VERSION", "SYSTEM", "TASK", "SIZE", "LICENCE", "SCORES")]
    for each in records:
        task = " ".join([each["task"], "-".join(each["languages"]) if len(each["languages"]) < 4 else ""]).strip()
        others = (f"; {escape(name)}: {brief(own)}" for name, own in each.get("elsewhere", {}).items())
        size, scores = f"{each['run_bytes'] / 1e6:,.1f} MB", brief(each["scores"]) + "".join(others)
        rows.append((each["name"], str(each["version"]), each["system"], task, size, each["licence"], scores))
    return rows


def describe(entry, hub):
    """An entry as lines of text."""
    yield f"{entry['name']}, version {entry['version']}, of {hub}"
    for key, value in entry.items():
        if key in ("name", "version", "files", "bytes") or value in (None, "", [], {}):
            continue
        if key == "elsewhere":
            value = {f"{name}: {score}": item for name, own in value.items() for score, item in own.items()}
        if isinstance(value, dict):
            value = ", ".join(f"{name} {item}" for name, item in value.items())
        yield f"{key:<14}  {escape(', '.join(map(str, value)) if isinstance(value, list) else str(value))}"
    for name, count in sorted(entry["bytes"].items()):
        yield f"{'file':<14}  {name}, {count:,} bytes"
