"""The streams that front ends read, and what they send: Vercel's UI messages and AG-UI.

`part_writer` turns what a model or an agent says into parts (a text, a call, its result, an end), `vercel_events` and
`ag_ui_events` write a part in the words of their protocol. The way back: `page_request` has what the readers share, and
`chat_input` is the door.
"""
