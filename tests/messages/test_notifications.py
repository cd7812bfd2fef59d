"""Messages that the user did not type."""

from hocket.messages import HumanMessage, add_notification_metadata, get_notification_metadata


def test_a_message_says_what_added_it() -> None:
    message = HumanMessage("Done.", id="1", additional_kwargs={"lc_data": {"old": 1}, "mine": 2})
    marked = add_notification_metadata(message, source="task")
    assert (marked.id, marked.text, marked.additional_kwargs) == ("1", "Done.", {"mine": 2, "lc_source": "task"})
    assert message.additional_kwargs == {"lc_data": {"old": 1}, "mine": 2}
    assert get_notification_metadata(marked) == {"source": "task"}
    more = add_notification_metadata(marked, source="task", data={"n": 1})
    assert get_notification_metadata(more) == {"source": "task", "data": {"n": 1}}
    assert get_notification_metadata(message) is None
