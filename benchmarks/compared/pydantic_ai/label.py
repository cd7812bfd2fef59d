import asyncio
import csv
import sys
from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, RunUsage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tqdm.auto import tqdm


class Label(BaseModel):
    topic: Literal["invoice", "refund", "delivery", "praise"]


async def main():
    provider = OpenAIProvider(base_url="http://127.0.0.1:8790/v1", api_key="test-key")
    agent = Agent(OpenAIChatModel("tiny", provider=provider), output_type=NativeOutput(Label))
    rows = list(csv.DictReader(sys.stdin))
    usage = RunUsage()
    limit = asyncio.Semaphore(20)

    async def label(row):
        async with limit:
            try:
                result = await agent.run(row["text"])
                row["label"] = result.output
                usage.incr(result.usage)
            except Exception as error:
                row["label"] = error

    with tqdm(total=len(rows)) as bar:
        for done in asyncio.as_completed([label(row) for row in rows]):
            await done
            bar.update()
    print([(row["id"], row["label"]) for row in rows if isinstance(row["label"], Exception)])
    print(rows[3]["label"], usage)


asyncio.run(main())
