"""Takes OpenAI's place, without a key: each batch is done after some seconds.

python server.py 10
"""

import json
import sys

from hocket.testing import BatchPlan, OpenAIFormat, ReceivedRequest, serve

WORDS = {"late": "delivery", "broken": "damage"}


def answer(request: ReceivedRequest) -> str:
    text = request.json["messages"][-1]["content"]
    return json.dumps({"about": next((label for word, label in WORDS.items() if word in text), "other")})


with serve(OpenAIFormat(), answer) as server:
    server.batches.plan = BatchPlan(seconds=float(sys.argv[1]))
    print(server.url, flush=True)
    sys.stdin.read()
