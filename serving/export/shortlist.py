"""The shortlist of an export: which target ids may be written for which source ids.

It is estimated from the pairs of a training by IBM Model 1, `p(t | s)` by expectation and maximisation: over the pairs
`(x, y)` of ids,

    c(s, t) = sum_pairs sum_j [y_j = t] sum_i [x_i = s] p(t | s) / sum_k p(t | x_k)
    p(t | s) = c(s, t) / sum_t' c(s, t')

It begins with equal probabilities. The end of sentence, which every source has, is the model's empty word: it takes
what no piece of the source explains.

Reference: Brown et al. 1993, "The Mathematics of Statistical Machine Translation", section 4.1; candidates of each
word from such a table are of https://arxiv.org/abs/1412.2007 (Jean et al. 2015).
"""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zoo.core.storage import write_atomically
from zoo.recipes import check_data, read
from zoo.recipes.folder import SHORTLIST as FILE
from zoo.text.base import EOS

MOST_BYTES = 2**28  # of the arrays, which a stranger's zip could make many of few
WIDTH, FREQUENT = 100, 100  # as Marian has them by default
ROUNDS = 5
MOST_LINKS = 20_000_000  # pairs of a source and a target position that are looked at; the process then takes 1.3 GB


def links(sources, targets, most=MOST_LINKS):
    """`(source ids, target ids, places)` of all links, each `(n,)`.

    A link is position i of a source with position j of its target. `places` numbers the target positions, so that the
    links of one position have one number. Of a corpus with more than `most` links every k-th pair is read.

    Raises:
        ValueError: there is no pair, or not as many targets as sources.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(
            "A lexicon is estimated from pairs: expected as many targets as sources and at least one; received "
            f"{len(sources)} and {len(targets)}."
        )
    lengths = np.array([[len(source), len(target)] for source, target in zip(sources, targets, strict=True)], "int64")
    every = max(1, -(-int(lengths.prod(1).sum()) // most))
    sources, targets, lengths = sources[::every], targets[::every], lengths[::every]
    flat = [np.fromiter((each for ids in side for each in ids), "int32") for side in (sources, targets)]
    starts = np.cumsum(lengths[:, 0]) - lengths[:, 0]
    wide = np.repeat(lengths[:, 0], lengths[:, 1])  # of each target position: the length of its source
    places = np.repeat(np.arange(len(wide), dtype="int32"), wide)
    inside = np.arange(len(places), dtype="int64") - np.repeat(np.cumsum(wide) - wide, wide)
    at = np.repeat(np.repeat(starts, lengths[:, 1]), wide) + inside
    return flat[0][at], flat[1][places], places


def model_1(linked, vocabulary, rounds=ROUNDS):
    """`(source ids, target ids, probabilities)` of all pairs of ids that are linked, by Model 1.

    Args:
        linked: `links`.
        vocabulary: number of target ids.
        rounds: of expectation and maximisation.
    """
    source, target, places = linked
    keys, which = np.unique(source.astype("int64") * vocabulary + target, return_inverse=True)
    which = which.astype("int32")
    owners, named = keys // vocabulary, keys % vocabulary
    probabilities = np.ones(len(keys), "float32")
    for _ in range(rounds):
        shares = probabilities[which]
        shares /= np.bincount(places, shares).astype("float32")[places]
        counts = np.bincount(which, shares, len(keys))
        probabilities = (counts / np.bincount(owners, counts)[owners]).astype("float32")
    return owners, named, probabilities


def likeliest(lexicon, size, width, fill):
    """`(size, width)` int32: the likeliest targets of each source id, the best first; `fill` where it has fewer."""
    owners, named, probabilities = lexicon
    order = np.lexsort((named, -probabilities, owners))
    owners, named = owners[order], named[order]
    rank = np.arange(len(owners)) - np.searchsorted(owners, owners)
    kept = rank < width
    table = np.full((size, width), fill, "int32")
    table[owners[kept], rank[kept]] = named[kept]
    return table


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The `width` likeliest target ids of each source id, and ids that may always be written.

    Args:
        table: `(source vocabulary, width)` int32; EOS fills rows that have fewer.
        always: `(n,)` int32, besides the special ids.
    """

    table: Any
    always: Any

    @classmethod
    def from_pairs(cls, sources, targets, vocabulary, width=WIDTH, frequent=FREQUENT):
        """Estimated by `model_1` from pairs of lists of ids, with `frequent` most frequent ids.

        Args:
            sources, targets: lists of lists of ids, without the end of sentence.
            vocabulary: `(source, target)` numbers of ids.
            width, frequent: how many ids each source id allows, and how many are always allowed.

        Raises:
            ValueError: there are no pairs, or `width` or `frequent` is out of range.
        """
        if width < 1 or frequent < 0:
            raise ValueError(
                f"A shortlist needs a width of at least 1 and no negative number of frequent ids. Received: {width} "
                f"and {frequent}."
            )
        sequences = [[[*ids, EOS] for ids in side] for side in (sources, targets)]
        lexicon = model_1(links(*sequences), vocabulary[1])
        counts = np.bincount(np.fromiter((each for ids in targets for each in ids), "int64"), minlength=vocabulary[1])
        always = np.argsort(-counts, kind="stable")[:frequent]
        table = likeliest(lexicon, vocabulary[0], min(width, vocabulary[1]), EOS)
        return cls(table, np.sort(always[counts[always] > 0]).astype("int32"))

    @classmethod
    def load(cls, content):
        """Of a file of `save`, opened for reading.

        Raises:
            ValueError: it is no such file.
        """
        try:
            with np.load(content, allow_pickle=False) as arrays:
                if sum(each.file_size for each in arrays.zip.infolist()) > MOST_BYTES:
                    raise ValueError(f"more than {MOST_BYTES:,} bytes")
                return cls(arrays["table"].astype("int32"), arrays["always"].astype("int32"))
        except (KeyError, OSError, ValueError, EOFError, MemoryError, AttributeError, zipfile.BadZipFile) as error:
            raise ValueError(f"No shortlist: expected {FILE} with `table` and `always`, received {error}.") from error

    def save(self, path):
        """Write the file, whole or not at all; equal lists give equal bytes."""
        arrays = {name: np.asarray(getattr(self, name), "int32") for name in ("table", "always")}
        write_atomically(Path(path), lambda file: np.savez_compressed(file, **arrays))

    @property
    def width(self):
        """How many ids of the target each id of the source allows at most."""
        return int(self.table.shape[1])


def of_run(directory):
    """`{"shortlist": the one that came with an imported run}`, or nothing.

    Raises:
        ValueError: its file is damaged.
    """
    path = directory and directory / FILE
    return {"shortlist": Shortlist.load(path)} if path and path.is_file() else {}


def of_artefact(directory, manifest):
    """The `Shortlist` with which an artefact was exported, or None.

    Raises:
        ValueError: its file is damaged.
    """
    return Shortlist.load(Path(directory) / FILE) if "shortlist" in manifest else None


def choose_shortlist(changes, recipe, tokenizers, data=None):
    """`{"shortlist": the one that estimate makes}` where changes of settings name a width, and else nothing."""
    width = changes.get("shortlist")
    return {"shortlist": estimate(recipe, tokenizers, data, width)} if isinstance(width, int) else {}


def estimate(recipe, tokenizers, data=None, width=WIDTH):
    """The `Shortlist` of the pairs that a recipe trains on, cut into pieces by the tokenizers of its model.

    Args:
        recipe: of a task that reads one text and writes another.
        tokenizers: of the source and of the target.
        data: the directory of the corpus, unless the recipe's data are generated or its files are named in it.
        width: of the table.

    Raises:
        ValueError: the task is another, or the data are not there.
    """
    if len(tokenizers) != 2:
        raise ValueError(
            f"A shortlist is for models that read one text and write another; the task {recipe.task!r} is none. Leave "
            "--shortlist out."
        )
    check_data(recipe, ("train",), data)
    sides = [
        tokenizer.encode(list(texts)) for tokenizer, texts in zip(tokenizers, read(recipe, "train", data), strict=True)
    ]
    return Shortlist.from_pairs(*sides, [tokenizer.vocab_size for tokenizer in tokenizers], width)
