"""The searches of a model over a shortlist, beside those over its whole vocabulary."""

import dataclasses

from serving.export.kinds.base import ExportedFunction
from serving.export.signatures import shortlist_search
from serving.runtime.manifest_format import shortlist_name


def signature_of(name):
    """The name of the signature of a search over the shortlist.

    >>> from serving.export.kinds.narrowed import signature_of
    >>> signature_of("tokens")
    'tokens_shortlist'
    """
    return f"{name}_shortlist"


def narrow_searches(model, settings, rules, searches):
    """Of each of `searches` that has an ONNX graph, the same over `settings.shortlist`; only its ONNX graph is written.

    Raises:
        ValueError: as of `zoo.decoding.shortlist.Shortlisted`.
    """
    if settings.shortlist is None:
        return []
    own = {each.graph: each for each in reversed(searches) if each.graph}
    return [_narrow_search(model, settings, rules, each) for each in reversed(own.values())]


def _narrow_search(model, settings, rules, search):
    beams = search.signature.outputs[0].shape[1]
    table = dataclasses.replace(search.signature, name=signature_of(search.name))
    function = shortlist_search(model, settings.shortlist, settings, beams, rules)
    return ExportedFunction(table, function, shortlist_name(search.graph), saved=False, int8=True)


def facts(shortlist, generation):
    """What the manifest says of a shortlist; nothing where there is none.

    Args:
        shortlist: `serving.export.shortlist.Shortlist`, or None.
        generation: the graphs over the whole vocabulary by beam width.
    """
    if shortlist is None:
        return {}
    graphs = {beams: shortlist_name(graph) for beams, graph in generation.items()}
    return {"shortlist": {"width": shortlist.width, "always": len(shortlist.always), "generation": graphs}}
