"""Pods on pretend nodes find each other through their environment and really talk."""

from pathlib import Path

from tests.worlds.local.jobs import Jobs, python

ALL_REDUCE = """
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(where)
    peers = [server.accept()[0] for _ in range(world - 1)]
    parts = [int(peer.makefile().readline()) for peer in peers]
    total = sum(parts) + rank
    for peer in peers:
        peer.sendall(b"%d\\n" % total)
else:
    while True:
        try:
            peer = socket.create_connection(where)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    peer.sendall(b"%d\\n" % rank)
    total = int(peer.makefile().readline())
print(f"{os.environ['GANGLION_NODE']} rank {rank} of {world}: {total}", flush=True)
"""


def test_ranks_on_two_nodes_sum_their_numbers_over_the_master_port(jobs: Jobs) -> None:
    gang = jobs.run(python(ALL_REDUCE), pods=2, procs=2, gpus=2)
    assert jobs.end(gang).exit_code == 0
    said = [jobs.log(gang, rank).strip() for rank in range(4)]
    nodes = ("node-0", "node-0", "node-1", "node-1")
    assert said == [f"{node} rank {rank} of 4: 6" for rank, node in enumerate(nodes)]


def test_gangs_that_run_together_use_different_ports(jobs: Jobs) -> None:
    gangs = [jobs.run(python(ALL_REDUCE), name=f"job{n}", pods=2) for n in range(4)]
    assert [jobs.end(gang).exit_code for gang in gangs] == [0, 0, 0, 0]
    assert all(jobs.log(gang, 1).endswith("of 2: 1\n") for gang in gangs)


def test_two_servers_on_one_machine_do_not_agree_on_a_port(jobs: Jobs, tmp_path: Path) -> None:
    other = Jobs(tmp_path / "another home")
    gangs = [each.run("echo $MASTER_PORT; sleep 60") for each in (jobs, other)]
    for each, gang in zip((jobs, other), gangs, strict=True):
        each.says(gang, "\n")
    assert jobs.log(gangs[0]) != other.log(gangs[1])
    other.stop_all()


def test_the_host_file_lists_a_line_per_pod(jobs: Jobs) -> None:
    gang = jobs.run('cat "$GANGLION_HOSTFILE"', pods=2, gpus=4)
    jobs.end(gang)
    assert jobs.log(gang) == "127.0.0.1 slots=4\n127.0.0.1 slots=4\n"


def test_a_job_finds_its_checkpoints_in_the_next_attempt(jobs: Jobs) -> None:
    command = 'cd "$GANGLION_CHECKPOINT_DIR"; cat saved; echo step $GANGLION_ATTEMPT > saved'
    jobs.end(jobs.run(command))
    gang = jobs.run(command, attempt=2)
    jobs.world.observe()
    jobs.facts.clear()
    jobs.end(gang)
    assert jobs.log(gang, attempt=2) == "step 1\n"
