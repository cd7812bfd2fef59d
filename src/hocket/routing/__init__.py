"""Many deployments as one model: several keys, regions or providers under one name.

- `ChatRouter`: a chat model that asks the deployment which is able, and another one where that fails.
- `ChatCascade`: a chat model that asks a cheap one first, and the next where its answer is not accepted.
- `Deployment`: one of them; `DeploymentState`: how it stands.
- `routers_from_litellm`: routers out of the file of a LiteLLM proxy.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.routing.deployment import Deployment, DeploymentState

if TYPE_CHECKING:
    from hocket.routing.cascade import CascadeStep, ChatCascade
    from hocket.routing.litellm_config import routers_from_litellm
    from hocket.routing.router import ChatRouter

__all__ = ["CascadeStep", "ChatCascade", "ChatRouter", "Deployment", "DeploymentState", "routers_from_litellm"]

_LATER = {"cascade": "CascadeStep ChatCascade", "litellm_config": "routers_from_litellm", "router": "ChatRouter"}
__getattr__: Loader = loader(__name__, _LATER)
