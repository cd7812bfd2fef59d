import asyncio
import csv
import sys
from typing import Literal

from pydantic import BaseModel
from tqdm.auto import tqdm

from hocket import ChatOpenAI, get_usage_metadata_callback


class Label(BaseModel):
    topic: Literal["invoice", "refund", "delivery", "praise"]


async def main():
    model = ChatOpenAI(model="tiny", base_url="http://127.0.0.1:8790/v1", api_key="test-key")
    labeller = model.with_structured_output(Label)
    rows = list(csv.DictReader(sys.stdin))
    with get_usage_metadata_callback() as usage:
        answers = labeller.abatch_as_completed(
            [row["text"] for row in rows], {"max_concurrency": 20}, return_exceptions=True
        )
        async for index, answer in tqdm(answers, total=len(rows)):
            rows[index]["label"] = answer
    print([(row["id"], row["label"]) for row in rows if isinstance(row["label"], Exception)])
    print(rows[3]["label"], usage.usage_metadata)


asyncio.run(main())
