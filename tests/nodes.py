"""A Ray cluster on this machine, `nodes.py 2`: a head without cores, and so many nodes of one core each.

It prints its address. A line on standard input kills a node, the end of standard input ends all.
"""

import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(int(sys.argv[1]))]
print(cluster.address, flush=True)
for _ in sys.stdin:
    cluster.remove_node(nodes.pop(), allow_graceful=False)
cluster.shutdown()
