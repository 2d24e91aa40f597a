"""What differs between models that write, go on, classify and tag; all the rest of `serving` is the same for them."""

from serving.kinds.labelling import Classify, Tag
from serving.kinds.writing import Continue, Generate

KINDS = {kind.name: kind for kind in (Generate, Continue, Classify, Tag)}


def kind_of(model, settings):
    """The `Kind` of a model, told by the signatures it has.

    Raises:
        ValueError: it has none that is known.
    """
    tables = {table.name: [spec.name for spec in table.inputs] for table in model.signatures()}
    for name in ("classify", "tag"):
        if name in tables:
            return KINDS[name](model, settings)
    if "tokens" in tables:
        return KINDS["generate" if "source_ids" in tables["score"] else "continue"](model, settings)
    raise ValueError(
        f"{type(model).__name__} cannot be exported: expected signatures with 'tokens', 'classify' or 'tag', "
        f"received {sorted(tables)}."
    )
