import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
from pydantic_ai import RequestUsage
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models import Model, StreamedResponse


@dataclass
class EchoStream(StreamedResponse):
    _response: httpx.Response = None
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self):
        done = False
        async for line in self._response.aiter_lines():
            data = json.loads(line)
            done = data.get("done", False)
            if done:
                self._usage = RequestUsage(output_tokens=data["tokens"])
                self.finish_reason = "stop"
            else:
                for event in self._parts_manager.handle_text_delta(vendor_part_id="text", content=data["piece"]):
                    yield event
        if not done:
            raise UnexpectedModelBehavior("the stream broke off")

    @property
    def model_name(self) -> str:
        return "echo"

    @property
    def provider_name(self) -> str:
        return "echo"

    @property
    def provider_url(self) -> str | None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._timestamp


class EchoModel(Model):
    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._base_url = base_url

    @property
    def model_name(self) -> str:
        return "echo"

    @property
    def system(self) -> str:
        return "echo"

    @property
    def base_url(self) -> str:
        return self._base_url

    def _prompt(self, messages, parameters) -> list[dict[str, str]]:
        prompt = []
        for part in self._get_instruction_parts(messages, parameters) or []:
            prompt.append({"who": "house", "text": part.content})
        for message in messages:
            if isinstance(message, ModelResponse):
                text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
                prompt.append({"who": "host", "text": text})
            elif isinstance(message, ModelRequest):
                for part in message.parts:
                    if isinstance(part, SystemPromptPart):
                        prompt.append({"who": "house", "text": part.content})
                    elif isinstance(part, UserPromptPart) and isinstance(part.content, str):
                        prompt.append({"who": "guest", "text": part.content})
                    else:
                        raise NotImplementedError(f"Echo takes no {type(part).__name__}")
        return prompt

    @asynccontextmanager
    async def request_stream(
        self, messages, model_settings, model_request_parameters, run_context=None
    ) -> AsyncIterator[EchoStream]:
        model_settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        body = {"prompt": self._prompt(messages, parameters)}
        async with (
            httpx.AsyncClient(timeout=30) as client,
            client.stream("POST", f"{self._base_url}/generate", json=body) as response,
        ):
            if response.status_code >= 400:
                raise ModelHTTPError(response.status_code, "echo", (await response.aread()).decode())
            yield EchoStream(model_request_parameters=parameters, _response=response)

    async def request(self, messages, model_settings, model_request_parameters) -> ModelResponse:
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
            return stream.get()
