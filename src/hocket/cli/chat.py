"""``hocket chat "question"``: one question, its answer streamed."""

import argparse
import sys
from typing import Any

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model one question and stream its answer."

_OPTIONS = ("max_tokens", "temperature", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument("question", help="what to ask; `-` reads it from standard input")
    parser.add_argument("--model", default="local", help="a model's name (default: local, which runs in this process)")
    parser.add_argument("--system", help="instructions that come before the question")
    parser.add_argument("--max-tokens", type=int, help="tokens to answer with at most")
    parser.add_argument("--temperature", type=float, help="0 is steady; the higher, the more varied")
    parser.add_argument("--seed", type=int, help="the same seed gives the same answer")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes.

    Raises:
        HocketError: the question is empty, the model unknown or not installed, or what the model itself raises.
    """
    from hocket.errors import InvalidInput
    from hocket.language_models.registry import init_chat_model
    from hocket.messages import BaseMessage, HumanMessage, SystemMessage

    question = sys.stdin.read() if arguments.question == "-" else arguments.question
    if not question.strip():
        raise InvalidInput("the question is empty")
    messages: list[BaseMessage] = [HumanMessage(content=question)]
    if arguments.system:
        messages.insert(0, SystemMessage(content=arguments.system))
    options: dict[str, Any] = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    model = init_chat_model(arguments.model, **options)

    reason = None
    with model.stream(messages) as chunks:
        for chunk in chunks:
            print(chunk.text, end="", flush=True)
            reason = chunk.response_metadata.get("finish_reason", reason)
    print(flush=True)
    if reason == "length":
        print("hocket: the answer was cut short by the token limit; --max-tokens raises it", file=sys.stderr)
