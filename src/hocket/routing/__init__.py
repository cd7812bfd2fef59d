"""Many deployments as one model: several keys, regions or providers under one name.

- `ChatRouter`: a chat model that asks the deployment which is able, and another one where that fails.
- `Deployment`: one of them; `DeploymentState`: how it stands.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.routing.deployment import Deployment, DeploymentState

if TYPE_CHECKING:
    from hocket.routing.router import ChatRouter

__all__ = ["ChatRouter", "Deployment", "DeploymentState"]

__getattr__: Loader = loader(__name__, {"router": "ChatRouter"})
