"""A Ray cluster on this machine, `nodes.py 2 --cores 2`: a head without cores, and so many nodes of so many each.

It prints its address. A line on standard input takes a node away as a machine that breaks down; the end of it ends all.
"""

import argparse
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster

parser = argparse.ArgumentParser()
parser.add_argument("count", type=int)
parser.add_argument("--cores", type=int, default=2)
arguments = parser.parse_args()
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=arguments.cores) for _ in range(arguments.count)]
print(cluster.address, flush=True)
for _ in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    print("lost", flush=True)
cluster.shutdown()
