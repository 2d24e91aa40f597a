"""`seqzoo hub package`: a published model as a wheel that pip installs."""


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME", help="a model, such as dates, or a version of it, dates@2")
    parser.add_argument("--out", default=".", metavar="DIR", help="the folder of the wheel; default: this one")
    parser.add_argument("--hub", metavar="DIR", help="the folder of a hub (default: the hubs of SEQZOO_HUB)")


def main(args):
    from serving.hub.opened import opened
    from serving.hub.wheel import package

    entry, folder = opened(args.name, args.hub)
    if entry["withdrawn"] is not None:
        raise ValueError(f"{entry['name']}@{entry['version']} was withdrawn: {entry['withdrawn']} It is not packaged.")
    print(package(folder, entry, args.out))
    return 0
