#!/bin/bash
#SBATCH --job-name=from-slurm
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --gres=gpu:1
#SBATCH --time=10

srun echo "task $SLURM_PROCID of $SLURM_NTASKS"
