"""Ray's fake provider of nodes, for Ray's monitor to load; it takes a promise of memory for a custom resource, which Ray refuses."""

from typing import Any

from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider


class FakeNodes(FakeMultiNodeProvider):
    """Nodes of the machine's own memory, whatever the node type says."""

    def _create_node_with_resources_and_labels(
        self, node_config: Any, tags: Any, count: int, resources: dict[str, float], labels: Any
    ) -> None:
        kept = {name: value for name, value in resources.items() if name != "memory"}
        super()._create_node_with_resources_and_labels(node_config, tags, count, kept, labels)
