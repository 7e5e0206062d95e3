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
  {
    id: "jupyter",
    title: "Jupyter",
    text: `name: notebook
kind: workspace
run: >-
  jupyter lab --ip 127.0.0.1 --port $GANGLION_PORT --no-browser
  --ServerApp.root_dir=$GANGLION_WORKSPACE_DIR --ServerApp.base_url=$JUPYTER_BASE_URL
env: {JUPYTER_BASE_URL: /notebook/}   # /NAME/, where the router leads to it
port: 8888
resources: {gpus: 1}
idle_timeout: 1h
`,
  },
  {
    id: "code",
    title: "VS Code server",
    text: `name: code
kind: workspace
run: code-server --auth none --bind-addr 127.0.0.1:$GANGLION_PORT $GANGLION_WORKSPACE_DIR
port: 8889
resources: {gpus: 1}
idle_timeout: 1h
`,
  },
  {
    id: "service",
    title: "Service",
    text: `name: answer
kind: service
run: python -m http.server --bind 127.0.0.1 $GANGLION_PORT
port: 8000
replicas: 1
resources: {gpus: 1}
`,
  },
  {
    id: "schedule",
    title: "Every night",
    text: `name: nightly
kind: batch
run: python report.py
schedule: {cron: "0 2 * * *", zone: UTC}
resources: {cpus: 1}
time_limit: 1h
`,
  },
];
