"""Plain: a gallery of models: a static folder whose page runs them in a browser, with no server behind it.

`page/` is what the folder holds of our own: `engine` answers texts as `serving.runtime` does, and `shown` draws what
the models did. `vendor/` has the two libraries that it needs, packed.

from serving.gallery import write

write(["dates"], "build/gallery")
"""

from serving.lazy import lazily

_HOMES = {"write": "serving.gallery.writing", "unpack": "serving.gallery.vendored"}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
