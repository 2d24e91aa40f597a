#!/bin/bash
# Trains on hosts that one can log in to, such as those of a TPU slice: one process on each host, with all its devices.
#
#     HOSTS="10.0.0.2 10.0.0.3" examples/launch/ssh.sh RECIPE --data DIR --out RUN
#
# The first host leads; the others must reach its port. DIR and RUN lie on a file system that all hosts share. When one
# host ends with an error, the others end within half a minute; the same command goes on from the last checkpoint.
set -euo pipefail

if [ $# -eq 0 ] || [ -z "${HOSTS:-}" ]; then
    echo "usage: HOSTS=\"HOST HOST ...\" $0 RECIPE --data DIR --out RUN" >&2
    exit 2
fi
read -ra hosts <<< "$HOSTS"
printf -v command '%q ' seqzoo train "$@" --devices all --resume
processes=()
for number in "${!hosts[@]}"; do
    ssh "${hosts[$number]}" "cd $(printf %q "${SEQZOO_DIR:-$PWD}") && env KERAS_BACKEND=jax \
        KERAS_DISTRIBUTION_JOB_ADDRESSES=${hosts[0]}:${SEQZOO_PORT:-12355} \
        KERAS_DISTRIBUTION_NUM_PROCESSES=${#hosts[@]} KERAS_DISTRIBUTION_PROCESS_ID=$number $command" &
    processes+=($!)
done
status=0
for process in "${processes[@]}"; do
    wait "$process" || status=$?
done
exit "$status"
