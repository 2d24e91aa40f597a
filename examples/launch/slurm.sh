#!/bin/bash
# Trains on the nodes of a SLURM cluster: one process on each node, which uses all of the node's GPUs.
#
#     sbatch examples/launch/slurm.sh RECIPE --data DIR --out RUN        (and whatever else `seqzoo train` takes)
#
# DIR and RUN lie on a file system that all nodes share. A job that is requeued goes on from its last checkpoint.
#SBATCH --job-name=seqzoo
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail

if [ $# -eq 0 ] || [ -z "${SLURM_JOB_NODELIST:-}" ]; then
    echo "usage: sbatch $0 RECIPE --data DIR --out RUN; without sbatch there are no nodes" >&2
    exit 2
fi
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST") # one a line
export KERAS_BACKEND=jax
export KERAS_DISTRIBUTION_JOB_ADDRESSES="${hosts%%$'\n'*}:${SEQZOO_PORT:-12355}"
export KERAS_DISTRIBUTION_NUM_PROCESSES="$SLURM_NTASKS"
# The number of a process is known in the process alone.
srun --kill-on-bad-exit=1 \
    bash -c 'KERAS_DISTRIBUTION_PROCESS_ID=$SLURM_PROCID exec seqzoo train "$@" --devices all --resume' train "$@"
