"""Plain: publishing: an artefact with its licences, its answers to a test set and a card becomes an entry of a hub.

`zoo.hub` reads hubs and needs no framework; this room writes them.
"""

from serving.lazy import lazily

_HOMES = {
    "Facts": "serving.hub.facts",
    "TestSet": "serving.hub.measure",
    "check": "serving.hub.checking",
    "check_signature": "serving.hub.signing",
    "package": "serving.hub.wheel",
    "publish": "serving.hub.publishing",
    "sign": "serving.hub.signing",
    "sign_index": "serving.hub.signing",
    "withdraw": "serving.hub.shelf",
}
PARTS = ("files", "scores", "answers", "parameters", "parity", "card", "data")  # of a card, which `check` checks
__all__ = ["PARTS", *sorted(_HOMES)]
__getattr__, __dir__ = lazily(__name__, _HOMES)
