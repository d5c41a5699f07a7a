"""The cluster that is this process keeps the contract of clusters."""

import pytest

from orchestrator.execution.inline_cluster import InlineCluster
from tests.contract.cluster_contract import FACTS, ClusterContract, open_worker


class TestInlineCluster(ClusterContract):
    @pytest.fixture
    def cluster(self) -> InlineCluster:
        return InlineCluster(open_worker(FACTS))
