"""Answers that go on without a reader, in a store that all processes of a service share; and the routes to them.

`answers` is the door, `runs` has what runs in this process, `run` is one of them, `reader` is one that follows, `head`
is what the store knows of an answer, and `chat_routes` are its paths over HTTP.
"""
