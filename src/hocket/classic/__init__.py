"""LangChain's older interfaces, for programs that were written for them. New programs do not need them.

Each is in a room of its own, under LangChain's names: `hocket.classic.agents`, `hocket.classic.chains`,
`hocket.classic.conversation`, `hocket.classic.example_selectors`, `hocket.classic.memory` and
`hocket.classic.output_parsers`.
"""
