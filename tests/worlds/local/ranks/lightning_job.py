"""A training script for PyTorch Lightning that knows of Slurm only; run by test_slurm."""

import sys
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.fabric.plugins.environments import SLURMEnvironment


class Model(pl.LightningModule):
    """Learns nothing, step by step, and writes every step down."""

    def __init__(self, marks: Path) -> None:
        super().__init__()
        self.layer, self.marks = torch.nn.Linear(1, 1), marks

    def training_step(self, batch: Any, _index: int) -> Any:
        with self.marks.open("a") as file:
            file.write(f"{self.trainer.global_rank} {self.trainer.global_step}\n")
        time.sleep(0.05)
        return self.layer(batch[0]).mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    folder, steps, tasks = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    assert SLURMEnvironment.detect()
    data = torch.utils.data.TensorDataset(torch.zeros(10_000, 1))
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        devices=tasks,
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
    )
    trainer.fit(Model(folder / "marks"), torch.utils.data.DataLoader(data))
    sys.stdout.write(f"finished at {trainer.global_step}\n")
