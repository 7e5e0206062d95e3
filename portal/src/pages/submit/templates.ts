/** Beginnings of workload files. */
export interface Template {
  id: string;
  title: string;
  text: string;
}

export const TEMPLATES: readonly Template[] = [
  {
    id: "train",
    title: "Training",
    text: `name: train
run: |
  for step in $(seq 1 60); do echo "step $step loss $((1000 / step))"; sleep 1; done
resources: {gpus: 1}
time_limit: 2h
`,
  },
  {
    id: "distributed",
    title: "Distributed training",
    text: `name: sft
run: torchrun train.py
nodes: 2
resources: {gpus: 8}
placement: prefer_rack
checkpoint: {interval: 30m}
time_limit: 24h
`,
  },
  {
    id: "sweep",
    title: "Sweep",
    text: `name: sweep
kind: sweep
run: python train.py --lr {lr}
params: {lr: [0.1, 0.01, 0.001]}
parallel: 2
resources: {gpus: 1}
time_limit: 1h
`,
  },
  {
    id: "batch",
    title: "Batch without GPU",
    text: `name: prepare
kind: batch
run: python prepare.py
resources: {cpus: 1}
time_limit: 1h
`,
  },
];
