from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.chat.character import Character
from everthread.chat.prompt_builder import (
    OPENING_MESSAGE,
    PROTECTED_LINES,
    Prompt,
    PromptParts,
    build_prompt,
    count_tokens,
    format_line,
    shared_prefix_ratio,
)
from everthread.errors import BadQuery
from everthread.recipes.prompt_parts import RULES, WINDOW_KEEP_RATIO, count_evicted_lines
from everthread.text.tokens import TokenCounter, estimate_tokens
from everthread.types import Context, Hit, Line, Message

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
CAPTAIN = Character(
    "Captain",
    "{{char}} has sailed with {{user}} for years.",
    location="the harbour",
    person="Nora",
    examples="{{user}}: Ready? {{char}}: Always.",
)


def line(seq: int, text: str, speaker: str = "Nora", days: int = 0) -> Line:
    role = "assistant" if speaker == "Captain" else "user"
    return Line(seq, "s", role, speaker, text, NOW - timedelta(days=days))  # type: ignore[arg-type]


def talk(lines: int) -> list[Line]:
    return [line(n, f"word{n} " * 20, "Nora" if n % 2 else "Captain") for n in range(1, lines + 1)]


def remembered(*lines: Line) -> Context:
    hits = tuple(Hit(line, 1.0, 0.9, {}, (line,)) for line in lines)
    text = "\n".join(map(format_line, lines))
    return Context(text, estimate_tokens(text), lines, hits, (), 0.9)


def whole(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def test_the_prompt_for_a_request_to_forget_says_that_a_reply_cannot_do_it() -> None:
    asked = build_prompt(CAPTAIN, PromptParts([], line(1, "Please forget what I said about Mia."), NOW), 2000)
    assert "Captain can't delete or forget what was said; Nora can" in asked.messages[-1].content
    other = build_prompt(CAPTAIN, PromptParts([], line(1, "I keep forgetting my keys."), NOW), 2000)
    assert "can't delete" not in whole(other)


def test_a_prompt_has_the_character_the_window_the_changing_parts_and_the_newest_line_in_order() -> None:
    window = [line(1, "Is the sloop ready?"), line(2, "Aye, she is.", "Captain")]
    turn = PromptParts(
        window, line(3, "Then let us go."), NOW, "We sail at dawn.", remembered(line(9, "I fear storms.", days=3))
    )
    prompt = build_prompt(CAPTAIN, turn, 4000)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user"]
    text = whole(prompt)
    places = [
        text.index(part)
        for part in (
            "You are Captain",
            "has sailed with Nora",
            "Nora: Ready? Captain: Always.",
            "Nora: Is the sloop ready?",
            "Captain: Aye, she is.",
            "We sail at dawn.",
            "Nora: I fear storms.",
            "(It is Saturday, 21 November 2026, 09:30, at: the harbour.)",
            "Nora: Then let us go.",
        )
    ]
    assert places == sorted(places)
    assert text.endswith("Nora: Then let us go.")
    assert prompt.cut == ()
    assert prompt.tokens == count_tokens(prompt.messages, estimate_tokens)


def test_memories_have_their_date_and_age() -> None:
    turn = PromptParts([], line(3, "Go."), NOW, context=remembered(line(9, "I fear storms.", days=3)))
    assert "[Wednesday, 18 November 2026, 09:30, 3 days ago]\nNora: I fear storms." in whole(
        build_prompt(CAPTAIN, turn, 4000)
    )


def test_memories_of_one_turn_are_not_in_the_next_prompt() -> None:
    first = PromptParts(
        [], line(1, "Storms?"), NOW, "notes", remembered(line(9, "I fear storms.", days=3)), reminder="the interview"
    )
    second = PromptParts([line(1, "Storms?"), line(2, "Aye.", "Captain")], line(3, "Go."), NOW)
    text = whole(build_prompt(CAPTAIN, second, 4000))
    assert "fear storms" in whole(build_prompt(CAPTAIN, first, 4000))
    assert not any(part in text for part in ("fear storms", "the interview", "notes]"))


def test_the_prefix_is_the_same_in_every_turn() -> None:
    one = build_prompt(CAPTAIN, PromptParts([], line(1, "a"), NOW, "n"), 4000)
    other = build_prompt(
        CAPTAIN, PromptParts(talk(4), line(5, "b"), NOW + timedelta(days=1), context=remembered(line(9, "x"))), 4000
    )
    assert one.messages[0] == other.messages[0]


def test_roles_alternate_and_the_user_comes_first() -> None:
    window = [line(1, "Ahoy!", "Captain"), line(2, "Hello."), line(3, "You there?"), line(4, "Arr", "Parrot")]
    prompt = build_prompt(CAPTAIN, PromptParts(window, line(5, "Well?"), NOW), 4000)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user"]
    assert prompt.messages[1].content == OPENING_MESSAGE
    assert prompt.messages[3].content.startswith("Nora: Hello.\n\nNora: You there?\n\nParrot: Arr\n\n")


def test_placeholders_in_memories_and_lines_are_not_filled_in() -> None:
    turn = PromptParts(
        [line(1, "what is {{char}}?")],
        line(2, "and {{user}}?"),
        NOW,
        "{{char}} asked",
        remembered(line(9, "{{user}}!")),
    )
    text = whole(build_prompt(CAPTAIN, turn, 4000))
    assert all(part in text for part in ("what is {{char}}?", "and {{user}}?", "{{char}} asked", "Nora: {{user}}!"))


def test_instructions_of_a_card_replace_or_surround_the_default_ones() -> None:
    own = build_prompt(replace(CAPTAIN, instructions="Talk like {{char}}."), PromptParts([], line(1, "a"), NOW), 4000)
    assert own.messages[0].content.startswith("Talk like Captain.")
    assert "You are Captain, talking" not in whole(own)
    both = build_prompt(replace(CAPTAIN, instructions="First. {{original}}"), PromptParts([], line(1, "a"), NOW), 4000)
    assert both.messages[0].content.startswith("First. You are Captain, talking with Nora.")


def test_the_reminder_of_a_card_follows_the_conversation() -> None:
    prompt = build_prompt(replace(CAPTAIN, reminder="Stay {{char}}."), PromptParts(talk(2), line(3, "a"), NOW), 4000)
    assert prompt.messages[-1].content.endswith("Stay Captain.\n\nNora: a")


def test_the_style_sample_is_in_the_prefix() -> None:
    prompt = build_prompt(CAPTAIN, PromptParts([], line(1, "a"), NOW, sample="Arr, what be ye after?"), 4000)
    assert "Arr, what be ye after?" in prompt.messages[0].content


# ------------------------------------------------------------------------ budget

FULL = PromptParts(
    talk(20),
    line(21, "And now?"),
    NOW,
    "The notes.",
    remembered(line(90, "An old thing. " * 9)),
    "The interview.",
    "Arr. " * 9,
)


@pytest.mark.slow
def test_parts_over_the_budget_are_cut_in_the_documented_order() -> None:
    everything = build_prompt(CAPTAIN, FULL, 100_000).tokens
    bare = build_prompt(replace(CAPTAIN, examples=""), PromptParts([], line(21, "And now?"), NOW), 100_000).tokens
    order: list[str] = []
    for budget in range(everything, bare - 1, -1):
        order += [part for part in build_prompt(CAPTAIN, FULL, budget).cut if part not in order]
    assert order == ["reminder", "window", "memories", "notes", "examples"]


def test_the_last_lines_of_the_window_are_cut_after_memories() -> None:
    turn = replace(FULL, reminder="")
    least = build_prompt(CAPTAIN, replace(turn, window=turn.window[-PROTECTED_LINES:], context=None), 100_000).tokens
    prompt = build_prompt(CAPTAIN, turn, least)
    assert prompt.cut == ("window", "memories")
    assert "An old thing" not in whole(prompt)
    assert format_line(turn.window[-PROTECTED_LINES]) in whole(prompt)
    assert format_line(turn.window[-PROTECTED_LINES - 1]) not in whole(prompt)


def test_the_least_relevant_memory_is_cut_first() -> None:
    many = remembered(*(line(90 + n, f"thing{n} " * 10, days=n + 1) for n in range(8)))
    turn = PromptParts([], line(1, "a"), NOW, context=many)
    prompt = build_prompt(CAPTAIN, turn, build_prompt(CAPTAIN, turn, 100_000).tokens - 60)
    assert prompt.cut == ("memories",)
    assert "thing0" in whole(prompt)
    assert "thing7" not in whole(prompt)


def test_a_line_longer_than_the_budget_loses_its_middle() -> None:
    long = line(1, "BEGIN " + "middle " * 5000 + "END")
    prompt = build_prompt(CAPTAIN, PromptParts([], long, NOW), 1000)
    assert prompt.tokens <= 1000
    assert prompt.cut == ("examples", "message")
    assert "Nora: BEGIN" in whole(prompt)
    assert "\n  […]\n" in whole(prompt)
    assert whole(prompt).endswith("END")


def test_a_character_larger_than_the_budget_is_rejected_with_a_remedy() -> None:
    with pytest.raises(BadQuery, match=r"Captain's description and instructions take .* shorten them"):
        build_prompt(replace(CAPTAIN, description="word " * 5000), FULL, 1000)


@given(
    *(st.integers(0, 30), st.integers(1, 400), st.integers(0, 6), st.integers(700, 3000)),
    *(st.booleans(), st.text(max_size=80)),
)  # fmt: skip
def test_a_prompt_fits_its_budget_and_ends_with_the_newest_line(
    lines: int, words: int, hits: int, budget: int, notes: bool, text: str
) -> None:
    context = remembered(*(line(900 + n, f"h{n} " * words, days=n + 1) for n in range(hits))) if hits else None
    turn = PromptParts(
        talk(lines), line(99, f"x{text}x"), NOW, "note " * 150 * notes, context, "offer " * 10, "sample " * 60
    )
    prompt = build_prompt(CAPTAIN, turn, budget)
    assert prompt.tokens == count_tokens(prompt.messages, estimate_tokens) <= budget
    assert prompt.messages[0].content.startswith("You are Captain")
    assert prompt.messages[-1].content.endswith("x")
    roles = [message.role for message in prompt.messages]
    assert all(one != other for one, other in pairwise(roles))


# ------------------------------------------------------------------------ window


def test_no_line_leaves_a_window_that_has_room() -> None:
    assert count_evicted_lines([10, 10, 10], 30) == 0


def test_a_full_window_is_cut_in_one_large_block() -> None:
    costs = [10] * 11
    evicted = count_evicted_lines(costs, 100)
    assert sum(costs[evicted:]) <= WINDOW_KEEP_RATIO * 100 < sum(costs[evicted - 1 :])


def test_the_newest_line_stays_in_the_window_at_any_length() -> None:
    assert count_evicted_lines([10, 10, 5000], 100) == 2
    assert count_evicted_lines([5000], 100) == 0
    assert count_evicted_lines([], 100) == 0


def test_the_shared_prefix_is_the_equal_beginning_of_two_prompts() -> None:
    one = Prompt((Message("system", "a b c"), Message("user", "d e f")), 16)
    assert shared_prefix_ratio(one, one) == 1.0
    assert shared_prefix_ratio(one, replace(one, messages=(Message("system", "z"),), tokens=6)) == 0.0
    half = shared_prefix_ratio(one, Prompt((one.messages[0], Message("user", "x y z")), 16))
    assert half == 0.5
    assert shared_prefix_ratio(one, Prompt((Message("user", "a b c"),), 8)) == 0.0


def test_a_growing_window_preserves_the_shared_prefix() -> None:
    window = talk(60)
    before = build_prompt(CAPTAIN, PromptParts(window[:50], window[50], NOW, "n"), 8000)
    after = build_prompt(CAPTAIN, PromptParts(window[:52], window[52], NOW, "m"), 8000)
    assert shared_prefix_ratio(before, after) > 0.9


def test_the_rules_contain_no_name_before_they_are_filled_in() -> None:
    assert "{{char}}" in RULES
    assert "{{user}}" in RULES


# ---------------------------------------------------------------------- odd material


def test_a_newest_line_of_the_character_is_an_assistant_message() -> None:
    prompt = build_prompt(CAPTAIN, PromptParts([line(1, "Where to?")], line(2, "North.", "Captain"), NOW), 4000)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user"]
    assert prompt.messages[2].content == "Captain: North."
    assert prompt.messages[3].content.endswith("(Nobody has answered yet: go on.)")
    alone = build_prompt(CAPTAIN, PromptParts([], line(1, "Ahoy!", "Captain"), NOW), 4000)
    assert [message.content for message in alone.messages[1:3]] == [OPENING_MESSAGE, "Captain: Ahoy!"]


def test_a_character_that_speaks_first_is_asked_to_begin() -> None:
    prompt = build_prompt(CAPTAIN, PromptParts([], None, NOW), 4000)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert prompt.messages[1].content.endswith("(Nobody has said anything yet: begin the conversation.)")


@pytest.mark.parametrize("instructions", ["{{original}}", "  ", "", " {{original}}\n"])
def test_blank_instructions_leave_the_default_ones(instructions: str) -> None:
    prompt = build_prompt(replace(CAPTAIN, instructions=instructions), PromptParts([], line(1, "a"), NOW), 4000)
    assert prompt == build_prompt(CAPTAIN, PromptParts([], line(1, "a"), NOW), 4000)


@pytest.mark.parametrize("name", ["{{char}}", "{{user}}", "{{original}}", r"\1", "%s"])
def test_a_name_is_used_literally(name: str) -> None:
    odd = Character(name, "{{char}} sails with {{user}}.", person="{{char}} the second")
    text = whole(build_prompt(odd, PromptParts([line(1, "Ready?")], line(2, "Well?"), NOW), 4000))
    assert f"You are {name}, talking with {{{{char}}}} the second." in text
    assert f"[About {name}]\n{name} sails with {{{{char}}}} the second." in text


def test_empty_parts_are_left_out() -> None:
    bare = Character("Captain", " \n", examples="\t", person="Nora", reminder=" ", scenario="")
    text = whole(
        build_prompt(bare, PromptParts([line(1, "")], line(2, "."), NOW, notes=" \n", reminder=" ", sample=" "), 4000)
    )
    assert "[" not in text
    assert "\n\n\n" not in text
    assert "Nora: \n\n(It is" in text


@given(
    st.text(st.sampled_from("猫漢字かな한국어😀👨‍👩‍👧🏽é\u0301 \n\u3000a1_"), max_size=600),
    st.integers(900, 1500),
    st.sampled_from([estimate_tokens, len, lambda text: len(text.encode()), lambda text: 2 * len(text.split())]),
)
def test_the_budget_holds_in_every_script_with_every_counter(text: str, room: int, count: TokenCounter) -> None:
    window = [line(n, text[n * 9 :] + str(n), "Captain" if n % 3 else "Nora") for n in range(1, 9)]
    turn = PromptParts(window, line(99, f"{text}!"), NOW, text, remembered(line(90, text + ".")), sample=text)
    least = build_prompt(replace(CAPTAIN, examples=""), PromptParts([], line(99, "!"), NOW), 10**9, count).tokens
    prompt = build_prompt(CAPTAIN, turn, least + room // 9, count)
    assert prompt.tokens == count_tokens(prompt.messages, count) <= least + room // 9
    assert prompt.messages[-1].content.endswith("!")


@pytest.mark.parametrize("budget", [1_000, 20_000, 10**9])
@pytest.mark.parametrize("speakers", [("Nora",), ("Nora", "Captain")])
def test_a_window_of_thousands_of_lines_is_counted_only_a_few_times(budget: int, speakers: tuple[str, ...]) -> None:
    window = [line(n, f"word{n} " * 20, speakers[n % len(speakers)]) for n in range(10_000)]
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return estimate_tokens(text)

    prompt = build_prompt(CAPTAIN, PromptParts(window, line(10_001, "Well?"), NOW), budget, count)
    assert prompt.tokens <= budget
    assert counted < 6 * sum(len(format_line(line)) for line in window)


def test_shortening_a_line_needs_few_counts() -> None:
    text = "BEGIN " + "dense, " * 300 + " " * 200_000 + "dense, " * 300 + "END"  # spaces cost no tokens
    calls = 0

    def count(text: str) -> int:
        nonlocal calls
        calls += 1
        return estimate_tokens(text)

    prompt = build_prompt(CAPTAIN, PromptParts([], line(1, text), NOW), 1000, count)
    assert prompt.tokens <= 1000
    assert calls < 100
