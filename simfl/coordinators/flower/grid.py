"""Simulated clients as ``flwr.serverapp`` sees them: the nodes of a grid."""

import gc
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any

from simfl.coordinators.flower.users import described, flower
from simfl.errors import RunError

PATIENCE = 20
"""How often a strategy may ask who is there: Flower's own ask again until enough are."""

UNSWEPT = 2**28
"""Bytes of replies after which Python looks for what is no longer used.

Flower's records refer to each other, and a run looks for such objects too seldom for large ones.
"""


class AppClients:
    """The user's `ClientApp` on every device.

    Args:
        app: ``app(message, context)`` -> a reply.
        contexts: one for each client.
    """

    def __init__(self, app: Callable[[Any, Any], Any], contexts: Sequence[Any]) -> None:
        self._app = app
        self._contexts = contexts
        self._unswept = 0

    def __call__(self, message: Any) -> Any:
        """Return the reply to a message, by whom it is sent to.

        As if it had been sent: what the client and the server keep of it is not the same object.

        Raises:
            RunError: there is no such client, or the reply is an error.
            TypeError: it is no message.
            Exception: the app raises.
        """
        client = message.metadata.dst_node_id
        if not 0 <= client < len(self._contexts):
            raise RunError(f"there is no client {client}")
        reply = self._app(message, self._contexts[client])
        if not isinstance(reply, flower("app").Message):
            raise TypeError(f"a ClientApp must return a Message, not a {type(reply).__name__}")
        if reply.has_error():
            raise RunError(f"client {client}: {reply.error.reason}")
        self._unswept += payload(reply.content)
        if self._unswept > UNSWEPT:
            gc.collect()
            self._unswept = 0
        return deepcopy(reply)

    def reply(self, message: Any) -> Any:
        """Return the reply to a message; what the app raises is one, too, as in Flower."""
        try:
            return self(deepcopy(message))
        except Exception as error:
            return error_reply(message, error)


def error_reply(message: Any, error: BaseException) -> Any:
    """Return what a server receives of a client that raised."""
    app = flower("app")
    return app.Message(app.Error(code=0, reason=described(error)), reply_to=message)


def payload(content: Any) -> int:
    """Return how many bytes the arrays of a `RecordDict` take."""
    kind = flower("app").ArrayRecord
    records = [record for record in content.values() if isinstance(record, kind)]
    return sum(len(array.data) for record in records for array in record.values())


def grid(clients: AppClients) -> Any:
    """Return a Flower `Grid` of whoever is `offered`; they answer at once, without virtual time."""
    identify()

    class Simulated(flower("serverapp").Grid):  # type: ignore[misc]
        def __init__(self) -> None:
            self._replies: dict[str, Any] = {}
            self._pushed = 0
            self.offer(())

        def offer(self, clients: Sequence[int]) -> None:
            self._offered, self._asked = dict.fromkeys(clients), 0

        def get_node_ids(self) -> Iterable[int]:
            self._asked += 1
            if self._asked > PATIENCE:
                raise RunError(
                    f"it waits for more clients than the {len(self._offered)} that are available; "
                    "let it want fewer (min_train_nodes, min_available_nodes), or let rounds begin "
                    "later: rounds.min_clients"
                )
            return list(self._offered)

        def create_message(
            self,
            content: Any,
            message_type: str,
            dst_node_id: int,
            group_id: str,
            ttl: float | None = None,
        ) -> Any:
            options = {"ttl": ttl, "group_id": group_id}
            return flower("app").Message(content, dst_node_id, message_type, **options)

        def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
            new = {str(n): self._reply(message) for n, message in enumerate(messages, self._pushed)}
            self._pushed += len(new)
            self._replies |= new
            return list(new)

        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
            return [self._replies.pop(name) for name in message_ids if name in self._replies]

        def send_and_receive(
            self, messages: Iterable[Any], *, timeout: float | None = None
        ) -> Iterable[Any]:
            return [self._reply(message) for message in messages]

        def _reply(self, message: Any) -> Any:
            if message.metadata.dst_node_id in self._offered:
                return clients.reply(message)
            return error_reply(message, RunError("this node is not available"))

        @property
        def run(self) -> Any:
            raise RunError("a simulated grid belongs to no run of Flower's")

        def set_run(self, run: Any) -> None:
            pass

    return Simulated()


def identify() -> None:
    """Say who sends messages, which those of Flower's later versions can't be made without."""
    try:
        identity = import_module("flwr.supercore.task_identity").TaskIdentity
    except ModuleNotFoundError:
        return
    identity.run_id = identity.node_id = identity.task_id = 0
