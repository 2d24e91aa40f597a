"""`seqzoo deploy`: what the operator of a server needs, and the labels that say which version is asked."""

from dataclasses import fields

from serving.deploy.options import TARGETS, Options
from serving.lazy import later

from . import shared
from .screen import log
from .shared import positive

deployment = later("serving.deploy.deployment")


def add_arguments(parser):
    parser.epilog = "targets:\n" + "\n".join(f"  {name:<11} {what}" for name, what in TARGETS.items())
    parser.add_argument(
        "artefacts",
        nargs="*",
        metavar="ARTEFACT",
        help="artefacts, folders of versions such as artefacts/NAME, or names of models; none are needed for a folder "
        "in which one model is deployed",
    )
    parser.add_argument("--target", choices=list(TARGETS), help="needed at the first deployment to a folder")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder of the deployment")
    labels = parser.add_mutually_exclusive_group()
    labels.add_argument("--canary", type=positive, metavar="N", help="try version N of the model beside the stable one")
    labels.add_argument("--promote", action="store_true", help="make the canary stable")
    labels.add_argument(
        "--rollback",
        action="store_true",
        help="end the trial of the canary, or return to the version before",
    )
    parser.add_argument(
        "--models", metavar="DIR", help="the folder in which the server sees the models, such as /models"
    )
    parser.add_argument("--max-batch", type=positive, metavar="N", help="the most rows in one run (default: 32)")
    parser.add_argument(
        "--batch-delay-ms",
        type=float,
        metavar="MS",
        help="how long a server waits for more rows (default: 2; `seqzoo serve`: at most 1,000)",
    )
    parser.add_argument("--threads", type=positive, metavar="N", help="batches at once, and cores (default: 4)")
    parser.add_argument("--image", help="the container image that runs `seqzoo serve`")
    parser.add_argument(
        "--storage",
        metavar="URI",
        help="where a cluster finds the models: pvc://CLAIM/FOLDER, s3://BUCKET/FOLDER or oci://REGISTRY/FOLDER "
        "(default: pvc://models)",
    )
    parser.add_argument(
        "--canary-percent",
        type=positive,
        metavar="P",
        help="the share of requests of a canary in KServe (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print the options and labels as one JSON object")
    shared.add_offline(parser)


def main(args):
    options = {each.name: value for each in fields(Options) if (value := getattr(args, each.name)) is not None}
    if args.target:
        Options(**options)  # refuses a wrong value before anything is read
    change = ("canary", args.canary) if args.canary else ("promote",) if args.promote else None
    change = ("rollback",) if args.rollback else change
    paths = list(map(shared.fetch_whole, args.artefacts))
    plan = deployment.deploy(paths, args.out, change, log, **options)
    if args.json:
        print(plan.text(), end="")
    else:
        for name, (_, labels) in plan.models.items():
            print(f"{name}: {labels}")
    return 0
