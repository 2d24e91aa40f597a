# %% [markdown]
# # A corpus on a cluster
# A folder of Parquet files is answered by a model on all machines of a Ray cluster, by Ray Data. A run that was ended,
# even by kill -9, goes on where it was: no row is lost and none is answered twice.
#
#     pip install 'seqzoo' 'ray[data]>=2.60'
#     python ray_batch.py dates texts.parquet answers --column text
#
# The input has a column `id`, in which every row has a value of its own. The answers are Parquet files in a folder,
# with the columns of the input and `answer`, `score`, `error` and `warning`. Ray does not keep the order of the rows:
# sort by `id`. On a cluster, the input, the answers and the folder `answers.checkpoint` must lie where every machine
# sees them, and RAY_ADDRESS says where the cluster is; without it Ray starts on this machine.
#
# For one machine, or a few without Ray, `seqzoo run MODEL --file IN --out OUT --shard I/N --resume` does the same.

# %%
import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would tell its makers of each run

import ray
from ray.data import ActorPoolStrategy, DataContext
from ray.data.checkpoint import CheckpointConfig

from serving import Runtime
from serving.corpus.forms import add_answers, columns_of
from serving.corpus.process import differences
from serving.kinds import KINDS

# %% [markdown]
# Each process opens the model once and answers blocks of rows; texts of similar length share a batch of the model. A
# row without a text has an error, as one whose text is too long, and costs no other row.


# %%
class Answers:
    """Answers batches of rows with a model, in a process of its own."""

    def __init__(self, model, column):
        self.runtime, self.column = Runtime(model, threads=1), column
        self.columns = columns_of(KINDS[self.runtime.kind])

    def __call__(self, table):
        texts = table[self.column].to_pylist()
        results = self.runtime.run([text or "" for text in texts])
        for place in [place for place, text in enumerate(texts) if text is None]:
            results[place] = replace(results[place], error="no text: the row holds null")
        return add_answers(table, results, self.columns)


# %% [markdown]
# What was asked is kept beside the answers, because answers of two models in one folder could not be told apart.


# %%
def begun(out, asked):
    """Refuse to go on with a run that was asked otherwise; note what is asked if this is the first one."""
    path = Path(f"{out}.run.json")
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if before != asked:
            raise SystemExit(f"{out} was begun otherwise: {differences(before, asked)}. Name another folder.")
        return
    if Path(out).exists():
        raise SystemExit(f"{out} exists, and no {path} says what it holds. Name another folder.")
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(asked, indent=1), encoding="utf-8")
    partial.replace(path)


def placed(path):
    """The path as every process can read it, whatever its working folder; an address of a bucket stays as it is."""
    return str(path) if "://" in str(path) else str(Path(path).absolute())


def answer(model, source, out, column="text", processes=None):
    """Answer every row of `source` that has no answer in `out` yet."""
    out, source = str(Path(out).absolute()), placed(source)
    model = placed(model) if Path(model).exists() else model
    begun(out, {"model": Runtime(model).identity, "source": source, "column": column})
    if not ray.is_initialized():
        # A run that goes on needs processors for the actors that filter what is done, too: six are declared, which on
        # a smaller machine only means that they take turns.
        local = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": max(6, os.cpu_count()), "include_dashboard": False}
        ray.init(log_to_driver=False, **local)
    context = DataContext.get_current()
    context.checkpoint_config = CheckpointConfig(
        id_column="id", checkpoint_path=f"{out}.checkpoint", delete_checkpoint_on_success=False
    )
    # Progress is kept block by block. Short texts would all fit into one block of Ray's usual 128 MiB.
    context.target_max_block_size = 100_000
    processes = processes or max(1, int(ray.cluster_resources()["CPU"]) // 2)
    rows = ray.data.read_parquet(source)
    rows.map_batches(
        Answers,
        fn_constructor_args=(model, column),
        batch_size=1024,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(min_size=1, max_size=processes),
        num_cpus=1,
    ).write_parquet(out)


# %%
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Answer the rows of Parquet files with a model, on a Ray cluster.")
    parser.add_argument("model", help="the name of a model, or the folder of an artefact")
    parser.add_argument("source", help="a Parquet file, or a folder of them, with a column id")
    parser.add_argument("out", help="the folder of the answers")
    parser.add_argument("--column", default="text", help="the column that holds the text (default: text)")
    parser.add_argument("--processes", type=int, help="how many open the model (default: half of the processors)")
    args = parser.parse_args()
    answer(args.model, args.source, args.out, args.column, args.processes)
