"""Datasets of Hugging Face: `hf://OWNER/NAME[/CONFIG][:SPLIT]`, folders that `save_to_disk` wrote, and Parquet files.

The library `datasets` is imported when one of them is asked for; `pip install 'seqzoo[huggingface]'` brings it. Numbers
of a `ClassLabel` become its names.
"""

import re
from itertools import islice
from pathlib import Path

from zoo.core.later import later
from zoo.core.wording import quantity
from zoo.data.formats.base import Format, Layout, quote
from zoo.data.formats.jsonl import keyed_layout, value_of
from zoo.data.formats.names import is_left_out, verdict_column
from zoo.data.formats.opening import inner_suffix

parquet = later("pyarrow.parquet")  # which comes with datasets

_SCHEME, _LOOKED_AT = "hf://", 100
_ADDRESS = re.compile(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:/(?P<config>[\w.+-]+))?(?::(?P<split>[^:/]+))?")
_SAVED, _SAVED_SPLITS = "state.json", "dataset_dict.json"


class HuggingFace(Format):
    """A dataset, from the hub or saved on disk."""

    name, suffixes = "huggingface", ()

    def claims(self, files, request):
        path = files[0]
        return path.startswith(_SCHEME) or _folder(path)[0] is not None or inner_suffix(path) == ".parquet"

    def layout(self, files, request):
        rows = _rows(files[0])
        first = next(iter(rows), None)
        if first is None:
            raise ValueError(f"{files[0]} is empty; expected at least one example.")
        layout = keyed_layout(files[0], 1, first, request)
        verdict = verdict_column(list(islice(iter(rows), _LOOKED_AT)), layout.details["keys"], request)
        details = {**layout.details, "rows": rows, "verdict": verdict}
        return Layout(layout.columns, f"a dataset of {quantity(len(rows), 'row')}; {layout.why}", details)

    def rows(self, files, request, layout, problems):
        rows, keys, verdict = (layout.details[key] for key in ("rows", "keys", "verdict"))
        names = {key: _class_names(rows.features, key) for key in keys}
        for number, row in enumerate(rows, 1):
            if is_left_out(row, verdict, problems, files[0], number):
                continue
            values = [value_of(row, key) for key in keys]
            unlabelled = [key for key, value in zip(keys, values, strict=True) if names[key] and _lacks_one(value)]
            if unlabelled:
                problems.lack(
                    "a label",
                    f"{unlabelled[0]!r} is {quote(value_of(row, unlabelled[0]))}, which stands for no label, as in "
                    "test parts whose labels are kept secret; expected one. Name another split.",
                    files[0],
                    number,
                )
                continue
            yield number, tuple(_to_names(value, names[key]) for key, value in zip(keys, values, strict=True))


def _rows(path):
    """The dataset, as an iterable of dicts with `features`."""
    library = _library(path)
    folder, split = _folder(path)
    if folder is not None:
        return _pick_split(path, library.load_from_disk(str(folder)), split)
    if not path.startswith(_SCHEME):
        if not Path(path).is_file():
            raise ValueError(f"There is no file {path}. Expected a Parquet file.")
        try:
            return library.Dataset(parquet.read_table(path))
        except Exception as error:  # of pyarrow, or of datasets about its types
            raise ValueError(f"{path} is no Parquet file that can be read: {_reason(error)}.") from error
    parts = _ADDRESS.fullmatch(path.removeprefix(_SCHEME))
    if parts is None:
        raise ValueError(
            f"{path}: no folder that save_to_disk wrote, and no address. Expected hf://NAME[/CONFIG][:SPLIT], such as "
            "hf://stanfordnlp/imdb:train, or hf:// and the path of such a folder."
        )
    name, config, split = parts["name"], parts["config"], parts["split"] or "train"
    try:
        return library.load_dataset(name, config, split=split)
    except Exception as error:
        raise ValueError(
            f"{path}: datasets cannot load {name!r}{f' with the configuration {config!r}' if config else ''}, split "
            f"{split!r}: {_reason(error)}. Expected hf://OWNER/NAME[/CONFIG][:SPLIT] as its page names them, and "
            "a connection, unless it is in the cache."
        ) from error


def _pick_split(path, loaded, split):
    """One dataset of what a folder holds: itself, or the split that was named."""
    if not hasattr(loaded, "keys"):
        if split:
            raise ValueError(f"{path}: the folder holds one dataset without splits; received the split {split!r}.")
        return loaded
    if split is None and len(loaded) > 1 and "train" not in loaded or split is not None and split not in loaded:
        raise ValueError(
            f"{path}: the folder holds the splits {', '.join(loaded)}; received {split!r}. Say one of them behind a "
            f"colon, such as {path.removesuffix(f':{split}')}:{next(iter(loaded))}."
        )
    return loaded[split or ("train" if "train" in loaded else next(iter(loaded)))]


def _folder(path):
    """(the folder that save_to_disk wrote, the split that is named behind a colon), or (None, None)."""
    plain = path.removeprefix(_SCHEME)
    for folder, split in ((plain, None), tuple(plain.rpartition(":")[::2])):
        if folder and any((Path(folder) / name).is_file() for name in (_SAVED, _SAVED_SPLITS)):
            return Path(folder), split
    return None, None


def _class_names(features, key):
    """The names of a ClassLabel, or of a list of them; else None."""
    feature = features.get(key)
    if feature is None and isinstance(features.get(key.partition(".")[0]), dict):
        feature = features[key.partition(".")[0]].get(key.partition(".")[2])
    inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else None)
    return getattr(feature, "names", None) or getattr(inner, "names", None)


def _lacks_one(value):
    """Whether a value of a ClassLabel, or one of a list of them, stands for no label."""
    return not {-1, None}.isdisjoint(value if isinstance(value, list) else [value])


def _to_names(value, names):
    if names is None:
        return value
    return [names[each] for each in value] if isinstance(value, list) else names[value]


def _reason(error):
    return quote(str(error).splitlines()[0] if str(error) else type(error).__name__, 160).strip("'\"")


def _library(path):
    try:
        import datasets
    except ImportError as error:
        raise ValueError(
            f"{path} is read by the library datasets, which is not installed. Expected it; install it with "
            "pip install 'seqzoo[huggingface]'."
        ) from error
    return datasets
