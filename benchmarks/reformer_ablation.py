"""Do the LSH layers matter? A trained Reformer with its attention silenced, and with other numbers of rounds.

    python benchmarks/reformer_ablation.py RUN --data DIR    # a run of gutenberg-9-reformer; writes results

For a published character model of another library somebody reported that zeroing its LSH layers changed nothing: its
local attention did the work. Here the output of LSH attention is set to zero in one layer, then in all; and the hashing
gets other rotations and 1, 2, 4, 8 rounds, and full attention over shared queries and keys. Nats per character of the
validation split's first `--characters`.
"""

import argparse
import dataclasses

from harness.report import table
from msgspec import structs
from timing import write


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--data", required=True)
    parser.add_argument("--characters", type=int, default=100_000)
    options = parser.parse_args(arguments)

    from zoo import runs
    from zoo.tasks.parts.building import build_model

    run = runs.open_run(options.run)
    recipe = run.recipe
    trained = [variable.numpy() for variable in run.model.trainable_variables]

    def nats(rounds, silent=()):
        """Of the model with other hashes, and without the attention of the layers `silent`."""
        changed = {"rounds": rounds} if rounds else {"rounds": 1, "chunk_length": recipe.model.context}
        changed = structs.replace(recipe, attention=structs.replace(recipe.attention, **changed))
        other = build_model(recipe.job, changed, run.tokenizers[0].vocab_size)
        for variable, value in zip(other.trainable_variables, trained, strict=True):
            variable.assign(value)
        for index in silent:
            kernel = other.decoder.blocks[index].attention.output_projection.kernel
            kernel.assign(0 * kernel)
        changed = dataclasses.replace(run, model=other)
        scores, _ = runs.evaluate(changed, "valid", options.data, limit=options.characters)
        return round(scores["nats_per_character"], 3)

    layers = range(recipe.model.num_layers)
    rows = [{"attention": f"{rounds} rounds", "nats per character": nats(rounds)} for rounds in (1, 2, 4, 8)]
    rows.append({"attention": "full, over shared queries and keys", "nats per character": nats(None)})
    rows += [
        {"attention": f"silent in layer {index + 1}", "nats per character": nats(recipe.attention.rounds, [index])}
        for index in layers
    ]
    rows.append({"attention": "silent in all layers", "nats per character": nats(recipe.attention.rounds, layers)})
    print(table(rows))
    write("reformer_ablation", rows, recipe=recipe.name, steps=recipe.training.steps, characters=options.characters)


if __name__ == "__main__":
    main()
