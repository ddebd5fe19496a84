"""A Ray cluster on this machine, `nodes.py 2 --cores 2`: a head without cores, and so many nodes of so many each.

It prints its address. A line on standard input takes a node away: `lost` as if its processes were killed, `cut` as if
its network was cut off, so that nobody hears of it any more. The end of standard input ends all.
"""

import argparse
import os
import sys

import psutil

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray._private.node import Node
from ray.cluster_utils import Cluster

HEALTH = {"health_check_period_ms": 1000, "health_check_timeout_ms": 4000}  # so that a test need not wait for long


def cut(node: Node) -> None:
    """Stop its processes where they are: their connections stay, and nothing comes any more."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for process in (*raylet.children(recursive=True), raylet):
        process.suspend()
    stopped.append(raylet)


def end(raylet: psutil.Process) -> None:
    """Kill a node that was cut off, and what it had started."""
    for process in (*raylet.children(recursive=True), raylet):
        process.kill()


stopped: list[psutil.Process] = []
parser = argparse.ArgumentParser()
parser.add_argument("count", type=int)
parser.add_argument("--cores", type=int, default=2)
arguments = parser.parse_args()
cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
)
nodes = [cluster.add_node(num_cpus=arguments.cores) for _ in range(arguments.count)]
print(cluster.address, flush=True)
for line in sys.stdin:
    if line.strip() == "cut":
        cut(nodes.pop())
    else:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
    print(line, end="", flush=True)
for raylet in stopped:
    end(raylet)
cluster.shutdown()
