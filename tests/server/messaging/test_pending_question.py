"""The question that waits for a person's yes or no."""

import pytest

from everthread.server.messaging.pending_question import Kind, PendingQuestion


def test_a_question_is_repeated_until_it_was_asked_three_times() -> None:
    question = PendingQuestion().ask("remember", "s1")
    assert question.may_repeat
    assert not question.ask("remember", "s1").ask("remember", "s1").may_repeat


def test_another_question_is_counted_from_one() -> None:
    twice = PendingQuestion("remember", "s1", 2)
    assert twice.ask("remember", "s2") == PendingQuestion("remember", "s2", 1)
    assert twice.ask("drop", "s1") == PendingQuestion("drop", "s1", 1)


@pytest.mark.parametrize(("kind", "asked"), [("remember", "remember"), ("drop", "forget"), ("forget", ""), ("", "")])
def test_only_a_question_about_a_conversation_has_a_name_in_chats(kind: Kind, asked: str) -> None:
    assert PendingQuestion(kind).about_conversation == asked
