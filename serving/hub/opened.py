"""The entry and the files of a published model: of a folder, or of the hubs that this machine knows."""

from pathlib import Path

from zoo.hub import index as hub_index


def opened(name, hub=None):
    """`(entry, folder)` of a model: all of its published files.

    Args:
        name: such as "dates" or "dates@2".
        hub: the folder of a hub; None asks the hubs of `SEQZOO_HUB`, and fetches what is not in the cache.

    Raises:
        ValueError: there is no such model.
    """
    if hub is None:
        import zoo.hub

        found = zoo.hub.find(*hub_index.split(name))
        entry = found.entry
        return entry, zoo.hub.fetch(hub_index.title(entry), files=sorted(entry["files"]))
    from serving.hub.shelf import read_index

    model, version = hub_index.split(name)
    entries = read_index(hub)["models"]
    entry = hub_index.choose(entries, model, version)
    if entry is None:
        near = hub_index.nearest(model, [each["name"] for each in entries])
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"{hub} has no model {name}.{hint} It has {len(entries)} entries; `seqzoo list` shows them.")
    return entry, Path(hub) / entry["name"] / str(entry["version"])


def record(name, hub=None):
    """The answers of a published model as `zoo.recipes.kept` keeps those of a run, for comparisons."""
    from serving.hub.checking import Published
    from zoo.recipes import kept

    entry, folder = opened(name, hub)
    published = Published(folder, entry)
    published.open()
    recipe, (inputs, references, outputs) = published.recipe, published.answers
    evaluation = recipe.job.assess(recipe, inputs, outputs, references)
    return kept.record(recipe, published.manifest["test"]["split"], evaluation)
