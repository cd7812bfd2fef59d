"""LiteLLM's own router, asked as a scene says: python asked.py, with scenes as JSON on standard input.

It runs in a process of its own, so that what the package does when it is imported is its own affair. On standard output
stands a JSON list: for each scene the answers, in which "" is an error.
"""

import asyncio
import json
import os
import sys
import warnings
from collections import Counter
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks another host for prices
warnings.simplefilter("ignore")
TALK: Any = [{"role": "user", "content": "hi"}]


async def play(scene: dict[str, Any]) -> Any:
    """Return the answers of a scene, or by whom so many questions would be answered."""
    import litellm

    config = scene["config"]
    router: Any = litellm.Router(model_list=config["model_list"], **config.get("router_settings", {}))
    if scene["choices"]:
        chosen = [
            await router.async_get_available_deployment(model=scene["model"], messages=TALK, request_kwargs={})
            for _ in range(scene["choices"])
        ]
        return Counter(one["litellm_params"]["api_key"] for one in chosen)
    answers: list[str] = []
    for _ in range(scene["calls"]):
        try:
            reply = await router.acompletion(model=scene["model"], messages=TALK)
            answers.append(str(reply.choices[0].message.content))
        except litellm.exceptions.APIError:
            answers.append("")
        except Exception as error:
            if not hasattr(error, "llm_provider"):
                raise
            answers.append("")
        await asyncio.sleep(0.1)  # what it notes of an answer, it notes in a task of its own
    return answers


async def main() -> None:
    print(json.dumps([await play(scene) for scene in json.load(sys.stdin)]))


if __name__ == "__main__":
    asyncio.run(main())
