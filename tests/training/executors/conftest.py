"""A local Ray cluster, and models that stay on its nodes."""

import os
from pathlib import Path

import pytest

from simfl.training.executors import ray as ray_executor
from simfl.training.executors import sums
from simfl.training.executors.ray import Ray

ROOT = Path(__file__).parents[3]


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes of one CPU each; `cluster.second` can be killed."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'simfl[ray]'")
    import ray
    from ray.cluster_utils import Cluster

    paths = [str(ROOT), str(Path(__file__).parent)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    nodes.second = nodes.add_node(**node)
    nodes.wait_for_nodes(60)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture
def models_stay(monkeypatch):
    """However small they are, and only a group of them at a time."""
    monkeypatch.setattr(ray_executor, "STAY_BYTES", 0)
    monkeypatch.setattr(sums, "ROOM_BYTES", 1)

    def never(self, batch):
        raise AssertionError("models travel")

    monkeypatch.setattr(Ray, "train", never)
