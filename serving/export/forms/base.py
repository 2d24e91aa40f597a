"""The protocol of a form: how it is written, which files and signatures it has, and how it answers."""

import importlib.util
from abc import ABC, abstractmethod

from serving.runtime.errors import UnsupportedError


class Form(ABC):
    """A form in which an artefact holds its model. The class writes it; an instance is a form that is open to answer.

    Args:
        directory: the artefact.
        manifest: its manifest, which lists files of the form.
    """

    file = ""  # of a form that is one file
    name = ""  # in settings, on the command line and in the manifest
    title = ""  # in reports and messages
    order = 9  # in which forms are written and named, the first first
    is_source = False  # whether the other forms are made from it and compared with it
    extra = None  # the extra of this package that installs what the form needs; None: every artefact has the form
    about = ""  # of an optional form, for the command line
    needs = ()  # the modules of that extra
    packages = ()  # the installed packages whose versions the manifest records
    searches = True  # whether it can hold the loop of a search

    def __init__(self, directory, manifest):
        self.directory, self.manifest = directory, manifest

    @classmethod
    @abstractmethod
    def write(cls, kind, tokenizers, directory, log):
        """Write the form to a directory, which may hold other files.

        Args:
            kind: of `serving.export.kinds`. What is found out meanwhile, such as ranges, goes to its settings.
            tokenizers: a `zoo.text.Tokenizer` for each of the kind's sides.
            directory: the artefact.
            log: a function that is called with a line about each stage.
        """

    @classmethod
    def files(cls, names):
        """Those of the names of an artefact's files that are of this form, sorted."""
        return [cls.file] if cls.file in names else []

    @classmethod
    def import_engine(cls):
        """Import, and return, what takes long before the form can be opened, while there is nothing else to do."""
        return None

    @abstractmethod
    def signatures(self):
        """`{signature: {"inputs": [..], "outputs": [..]}}` of tensors, each as of `declare`, read from the files."""

    @abstractmethod
    def answer(self, name, inputs):
        """The outputs of a signature by name, arrays; inputs that it does not take are left out."""

    @staticmethod
    def declare(spec):
        """What `signatures` should have of a tensor that the manifest describes; None where the form leaves it out."""
        return spec["name"], spec["dtype"], list(spec["shape"])

    def faults(self):
        """What must not be in the files, in sentences."""
        return []

    @classmethod
    def signature_files(cls, kind):
        """{signature: file} of an optional form, which the manifest has in `forms`."""
        return {}

    @classmethod
    def facts(cls, kind, directory):
        """What the manifest says of the form that was written, a dict of entries."""
        return {}

    @classmethod
    def check_safe(cls, directory):
        """Refuse files that would run a program when they are opened.

        Raises:
            DamagedError: the message names what would run.
        """
        return None

    @classmethod
    def put_published(cls, kind, tokenizers, directory, target, manifest):
        """Put the form of a published artefact in the place of the one that was made again, and compare the two.

        Args:
            kind, tokenizers: as of `write`.
            directory: the artefact, which lacks some of its files.
            target: where all forms were made again.
            manifest: of the artefact.

        Returns:
            {file: (answers that are the same, all answers)}; {} where nothing of the form is published.
        """
        return {}

    @classmethod
    def published_files(cls, manifest, graphs):
        """The files that a light artefact has of this form, which else is made again; it answers by `graphs`."""
        return []

    @classmethod
    def holds(cls, signature, manifest):
        """Whether the form of a published artefact has a signature, by its name."""
        return False

    @classmethod
    def find_requirements(cls, manifest):
        """{package: the oldest version} of what a published artefact needs for this form: the first of `packages`."""
        return {name: manifest["versions"][name] for name in cls.packages[:1] if name in manifest["versions"]}

    @classmethod
    def describe_use(cls, name, is_there):
        """What the card of a published artefact says of the form, a sentence or "".

        Args:
            name: of the model.
            is_there: whether the artefact has the form.
        """
        return ""

    @classmethod
    def check_installed(cls):
        """Check that what an optional form needs is installed.

        Raises:
            UnsupportedError: it is not.
        """
        missing = [name for name in cls.needs if importlib.util.find_spec(name) is None]
        if missing:
            raise UnsupportedError(
                f"The form {cls.title} needs {', '.join(missing)}, and it is not installed. Install it: "
                f"pip install 'seqzoo[{cls.extra}]'."
            )

    @classmethod
    def check_search(cls, task, searches):
        """Refuse a model whose answers need what the form cannot hold.

        Args:
            task: what the model is for, in a message.
            searches: whether its answers are found by a search.

        Raises:
            ValueError: they are, and the form cannot hold the loop of a search.
        """
        if searches and not cls.searches:
            raise ValueError(
                f"{cls.title} cannot hold a model of the task {task!r}, whose answers are found by a search: the loop "
                f"of a search has no {cls.title} form. Leave --form {cls.name} out; the other forms hold the search."
            )
