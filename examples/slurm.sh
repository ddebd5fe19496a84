#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=16 --gpus-per-node=2 --time=04:00:00
. .venv/bin/activate
head=$(getent hosts "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)" | cut -d " " -f 1)
srun --nodes=4 --ntasks=4 ray symmetric-run --address "$head:6379" --min-nodes 4 --num-cpus=16 --num-gpus=2 \
  -- make reproduce ADDRESS="$head:6379" GPUS=0.25 STORAGE="$PWD/build/storage"
