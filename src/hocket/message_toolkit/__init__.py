"""What is done with whole conversations: cut, filtered, merged, checked, mended, and written as OpenAI has them.

The functions are offered by `hocket.messages`, as LangChain has it. They live here, on a floor of their own, since some
return runnables and count tokens, which are built on messages.
"""
