import asyncio
import csv
import sys
from typing import Literal

from langchain.chat_models import init_chat_model
from langchain_core.callbacks import get_usage_metadata_callback
from pydantic import BaseModel
from tqdm.auto import tqdm


class Label(BaseModel):
    topic: Literal["invoice", "refund", "delivery", "praise"]


async def main():
    model = init_chat_model("tiny", model_provider="openai", base_url="http://127.0.0.1:8790/v1", api_key="test-key")
    labeller = model.with_structured_output(Label)
    rows = list(csv.DictReader(sys.stdin))
    with get_usage_metadata_callback() as usage:
        answers = labeller.abatch_as_completed(
            [row["text"] for row in rows], {"max_concurrency": 20}, return_exceptions=True
        )
        with tqdm(total=len(rows)) as bar:
            async for index, answer in answers:
                rows[index]["label"] = answer
                bar.update()
    print([(row["id"], row["label"]) for row in rows if isinstance(row["label"], Exception)])
    print(rows[3]["label"], usage.usage_metadata)


asyncio.run(main())
