"""The forms of an artefact: one file a form, and nothing else to change for a new one.

Every module of this folder that has a `FORM` is a form (`serving.export.forms.base.Form`). Exports, the parity check,
`verify`, the manifest and the hub ask the forms, and none of them asks for a form's name. No module here imports a
framework before it writes or opens something, and what is needed to open a form does not import the zoo.
"""

import importlib
import pkgutil


def discover():
    """The forms of the modules of this folder, in their order."""
    modules = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    forms = [module.FORM for module in modules if "FORM" in vars(module)]
    return sorted(forms, key=lambda form: (form.order, form.name))


FORMS = discover()
(SOURCE,) = (form for form in FORMS if form.is_source)  # what the others are made from, and compared with
ALWAYS = [form for form in FORMS if form.extra is None]
OPTIONAL = {form.name: form for form in FORMS if form.extra is not None}


def forms_in(files):
    """The forms that have files among these, the names of the files of an artefact."""
    return [form for form in FORMS if form.files(files)]


def forms_to_write(settings):
    """The forms that an export writes: all but the optional ones that its settings do not name."""
    return [form for form in FORMS if form.extra is None or form.name in settings.forms]


def forms_to_compare(directory, manifest):
    """The forms of an artefact that answer without the zoo, opened."""
    return [form(directory, manifest) for form in forms_in(manifest["files"]) if not form.is_source]


def titles(forms):
    """The titles of forms in a sentence: "Keras, SavedModel and ONNX"."""
    *others, last = (form.title for form in forms)
    return f"{', '.join(others)} and {last}" if others else last


def check_names(names):
    """Refuse names of optional forms that are unknown, and forms of which a package is not installed.

    Raises:
        ValueError: a name is unknown.
        UnsupportedError: a package is not installed.
    """
    unknown = sorted(set(names) - OPTIONAL.keys())
    if unknown:
        raise ValueError(
            f"Unknown forms: expected some of {', '.join(OPTIONAL)}, received {', '.join(unknown)}. Every artefact has "
            f"{titles(ALWAYS)}."
        )
    for name in names:
        OPTIONAL[name].check_installed()
