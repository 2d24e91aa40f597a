"""The kinds of models that can be exported, with all that differs between them in an export."""

from serving.export.kinds.continuing import Continue
from serving.export.kinds.encoding import Embed
from serving.export.kinds.labelling import Classify, Compare, Tag
from serving.export.kinds.writing import Generate

KINDS = {kind.name: kind for kind in (Generate, Continue, Classify, Compare, Tag, Embed)}


def kind_of(model, settings):
    """The `Kind` of a model, determined from its signatures.

    Raises:
        ValueError: the signatures belong to no known kind.
    """
    tables = {table.name: [spec.name for spec in table.inputs] for table in model.signatures()}
    for name in ("classify", "compare", "tag", "embed"):
        if name in tables:
            return KINDS[name](model, settings)
    if "tokens" in tables:
        return KINDS["generate" if "source_ids" in tables["score"] else "continue"](model, settings)
    raise ValueError(
        f"{type(model).__name__} cannot be exported: expected signatures with 'tokens', 'classify', 'compare', "
        f"'tag' or 'embed', received {sorted(tables)}."
    )
