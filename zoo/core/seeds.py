"""Seeds of the parts of a layer: one number in the config, another for each part."""


def shifted(seed, index):
    """The seed of part number `index`; None stays None. Parts of one seed would drop the same positions."""
    return None if seed is None else seed + index
