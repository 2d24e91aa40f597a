"""The option of every command that opens a model which may have layers of one's own."""

from serving.lazy import later

occupants = later("zoo.settings.occupants")


def add_arguments(parser):
    parser.add_argument(
        "--import",
        dest="imports",
        metavar="MODULE",
        action="append",
        default=[],
        help="a module that brings layers of your own, from the working folder, too; may be given many times. "
        "It is run as a program: what a run or an artefact names itself is not imported",
    )


def apply(args):
    """Import the modules that were asked for.

    Raises:
        ValueError: one is not found, or cannot be imported.
    """
    if args.imports:
        occupants.bring(args.imports)
