"""Labels for letters, at half the price. cron starts it each hour, and it never waits:

0 * * * * cd /srv/labels && OPENAI_API_KEY=... .venv/bin/python label.py
"""

import json
import os
from typing import Literal

from pydantic import BaseModel

from hocket import ChatPromptTemplate, init_chat_model, run_batch


class Label(BaseModel):
    about: Literal["delivery", "damage", "other"]


model = init_chat_model(os.environ.get("HOCKET_MODEL", "openai:gpt-5-mini"))
chain = ChatPromptTemplate.from_template("What is this letter about? {text}") | model.with_structured_output(Label)

# What has been answered since the last run is collected, and only what is new at the end of the letters is submitted.
with open("letters.jsonl") as letters:
    report = run_batch(chain, map(json.loads, letters), "labels.jsonl", id="id", via="provider", wait=0)
print(f"{report.ok} labelled, {report.pending} under way, {report.failed} failed")
