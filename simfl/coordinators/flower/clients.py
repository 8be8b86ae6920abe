"""Simulated clients as ``flwr.server`` sees them: what a strategy is given to ask."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simfl.coordinators.flower.users import flower, users
from simfl.errors import RunError

ClientFn = Callable[[Any], Any]
"""``client_fn(context)`` -> a Flower client, as for Flower's own `ClientApp`."""


def contexts(count: int, run_config: Mapping[str, Any]) -> list[Any]:
    """Return a Flower `Context` for each client, which it keeps from round to round."""
    common, app = flower("common"), flower("app")
    return [
        common.Context(
            run_id=0,
            node_id=number,
            node_config={"partition-id": number, "num-partitions": count},
            state=app.RecordDict(),
            run_config=dict(run_config),
        )
        for number in range(count)
    ]


class FlowerClients:
    """The user's clients: made when they are needed, each with a context that it keeps.

    Args:
        client_fn: makes one.
        contexts: one each.
    """

    def __init__(self, client_fn: ClientFn, contexts: Sequence[Any]) -> None:
        self._make = client_fn
        self._contexts = contexts

    def __call__(self, number: int) -> Any:
        """Return a Flower `Client`.

        Raises:
            ComponentError: the user's code raises, or makes something else.
        """
        with users(f"client_fn of client {number}"):
            made = self._make(self._contexts[number])
            client = made.to_client() if hasattr(made, "to_client") else made
            if not hasattr(client, "fit"):
                raise TypeError(f"it must return a Flower client, not a {type(made).__name__}")
        return client


def proxy(number: int, clients: FlowerClients) -> Any:
    """Return what a strategy is given for a client: it answers at once, without virtual time."""

    class Proxy(flower("server.client_proxy").ClientProxy):  # type: ignore[misc]
        def get_properties(self, ins: Any, timeout: Any, group_id: Any) -> Any:
            return clients(number).get_properties(ins)

        def get_parameters(self, ins: Any, timeout: Any, group_id: Any) -> Any:
            return clients(number).get_parameters(ins)

        def fit(self, ins: Any, timeout: Any, group_id: Any) -> Any:
            return clients(number).fit(ins)

        def evaluate(self, ins: Any, timeout: Any, group_id: Any) -> Any:
            return clients(number).evaluate(ins)

        def reconnect(self, ins: Any, timeout: Any, group_id: Any) -> Any:
            raise RunError("simulated clients need not reconnect")

    return Proxy(str(number))


def manager(proxies: Mapping[int, Any]) -> Any:
    """Return a Flower `ClientManager` of whoever is `offered`, drawing from simfl's streams."""

    class Manager(flower("server.client_manager").ClientManager):  # type: ignore[misc]
        offered: Mapping[int, Any] = proxies
        rng = np.random.default_rng(0)

        def num_available(self) -> int:
            return len(self.offered)

        def all(self) -> dict[str, Any]:
            return {proxy.cid: proxy for proxy in self.offered.values()}

        def wait_for(self, num_clients: int, timeout: int = 0) -> bool:
            return True  # `rounds.min_clients` is what waits

        def register(self, client: Any) -> bool:
            return False

        def unregister(self, client: Any) -> None:
            pass

        def sample(
            self, num_clients: int, min_num_clients: Any = None, criterion: Any = None
        ) -> Any:
            fit = [p for p in self.offered.values() if criterion is None or criterion.select(p)]
            drawn = self.rng.choice(len(fit), size=min(num_clients, len(fit)), replace=False)
            return [fit[place] for place in sorted(drawn)]

    return Manager()
