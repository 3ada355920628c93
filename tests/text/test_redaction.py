from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn

from everthread.text.redaction import REMOVED, redact, redact_rows

# Texts and the secrets in them. The numbers are those that banks and vendors publish for tests.
SECRETS = [
    ("My card is 4111 1111 1111 1111, I use it for the train to Porto.", "4111 1111 1111 1111"),
    ("You can charge 5555555555554444 for the hotel in Porto.", "5555555555554444"),
    ("Amex: 3782-822463-10005 is what Tom and I share.", "3782-822463-10005"),
    ("It is 4111-1111-1111-1111 12/27 by the way, for the tickets.", "4111-1111-1111-1111"),
    ("Card 6011.1111.1111.1117 works in Canada as well.", "6011.1111.1111.1117"),
    ("4222 2222 2222 2 is short, and still a Visa card of my bank.", "4222 2222 2222 2"),
    ("Rent goes to DE89 3704 0044 0532 0130 00 every month, to Mrs Alder.", "DE89 3704 0044 0532 0130 00"),
    ("Her account is gb29nwbk60161331926819 and she lives in Leeds.", "gb29nwbk60161331926819"),
    ("IBAN: NL91ABNA0417164300. We moved to Utrecht in May.", "NL91ABNA0417164300"),
    ("NO93 8601 1117 947 is where my Norwegian salary goes.", "NO93 8601 1117 947"),
    ("The key sk-abcdefghijklmnopqrstuvwx belongs to our project Neptune.", "sk-abcdefghijklmnopqrstuvwx"),
    ("I pasted ghp_16C7e42F292c6912E7710c838347Ae178B4a into the chat of my team.", "ghp_16C7e42F292c6912E7710c838347"),
    ("AWS gave me AKIAIOSFODNN7EXAMPLE for the photo archive.", "AKIAIOSFODNN7EXAMPLE"),
    ("Slack wants xoxb-123456789012-abcdefABCDEF in the settings of the bot.", "xoxb-123456789012"),
    ("The token is 9f86d081884c7d659a2feaa0c55ad015 for the weather station.", "9f86d081884c7d659a2feaa0c55ad015"),
    ("Our api key: dGhpcyBpcyBub3QgYSBrZXk5 runs the bakery website.", "dGhpcyBpcyBub3QgYSBrZXk5"),
    ("Authorization: Bearer abcdefghijklmnop.qrstuv goes into the header of each request.", "abcdefghijklmnop"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl is from the login page of our club.", "eyJhbGciOiJIUzI1NiJ9"),
    ("Our server in Oslo has -----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY----- in it.", "MIIEow"),
    ("We clone from https://nora:pa55word@git.example.org every morning.", "pa55word"),
    ("My password is hunter2, and my dog is called Pixel.", "hunter2"),
    ("My password is correct horse battery staple, and my dog is called Pixel.", "battery"),
    ("My wifi password for the cabin is 'open sesame' and Tom likes cheese.", "sesame"),
    ("my Netflix password's Tr0ub4dor&3! and we watch it on Sundays with Ana.", "Tr0ub4dor&3!"),
    ("Password: s3cr3t!x. My sister Ana uses it, too.", "s3cr3t!x"),
    ("I changed my password to Lisbon1755 and now Ana can't log in.", "Lisbon1755"),
    ("swordfish is my password, but my brother Tom guessed it.", "swordfish"),
    ("Log in with password blue42fish on the tablet in the kitchen.", "blue42fish"),
    ("My PIN is 1234 and I always forget it at the bakery.", "1234"),
    ("The PIN for my phone is 0 4 7 1, my brother knows it as well.", "0 4 7 1"),
    ("0471 is my PIN, and my brother Tom knows it as well.", "0471"),
    ("The security code is 731, I read it to the lady of the airline.", "731"),
    ("CVV 731, expires in May, said the lady of the airline.", "731"),
    ("The door code is 55812 for the house by the lake.", "55812"),
    ("Your verification code is 482913, said the message from my bank.", "482913"),
    ("我的密码是hunter2，别告诉小明和他的妹妹。", "hunter2"),
    ("银行卡密码：482913，我妹妹也知道这件事。", "482913"),
    ("wifi密码改成了lan1234，奶奶家的网络很慢。", "lan1234"),
    ("我的卡号是 4111 1111 1111 1111，用来买去北京的火车票。", "4111 1111 1111 1111"),
]
# Texts that resemble a secret.
PLAIN = [
    "12 May 2024",
    "order 66",
    "Order number 12345678 arrives on 12 May 2024.",
    "I was born on 1987-03-14 at 05:30.",
    "Call me at +49 1512 3456789 or 030 1234567.",
    "Her number is 555-867-5309.",
    "Call +1 (415) 555-2671 after six.",
    "We met in 2019, 2020, 2021 and 2022.",
    "2019 2020 2021 2022 were hard years.",
    "The years were 2016-2017-2018-2019.",
    "The marathon took 4:11:11 and I came 1,111th.",
    "It cost 4111.11 euros, and 1,111,111 in all.",
    "The bowling pin is 15 inches tall.",
    "The key is to practise every day.",
    "The key to my heart is chocolate.",
    "The secret is butter.",
    "The secret ingredient is 2 spoons of miso.",
    "My password is too long to remember.",
    "My password is not safe, they say.",
    "I forgot my password again.",
    "What is my password?",
    "A token of love is worth 1000 words.",
    "The dress code is black tie.",
    "My area code is 030.",
    "ISBN 978-3-16-148410-0 is a book on Rome.",
    "The EAN is 4006381333931.",
    "Her train is ICE 1234 from platform 12.",
    "IP 192.168.100.200 is the printer.",
    "1234567890123456 is no card, its check digit is wrong.",
    "DE89 3704 0044 0532 0130 01 is no account.",
    "The commit is 9f86d081884c7d659a2feaa0c55ad015.",
    "密码是什么？",
    "我的密码忘了。",
    "我生于1987年3月14日，电话是13812345678。",
    "The timestamp is 1714990000000.",
    "I skipped sk- and wrote ghp_ on the board.",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_removed_and_the_rest_remains(text: str, secret: str) -> None:
    assert secret in text
    kept = redact_rows(text)
    assert kept is not None
    assert secret not in kept
    assert REMOVED in kept


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_that_only_resembles_a_secret_is_unchanged(text: str) -> None:
    assert redact_rows(text) == text


@pytest.mark.parametrize(
    "text",
    ["My PIN is 1234.", "password: hunter2", "4111 1111 1111 1111", "- 6 May 2024: my password is abc def", " \n"],
)
def test_a_text_of_nothing_but_a_secret_is_dropped(text: str) -> None:
    assert redact_rows(text) is None


def test_only_rows_of_nothing_but_a_secret_are_dropped() -> None:
    rows = ["- 6 May 2024: My PIN is 1234.", "- 6 May 2024: I moved to Lisbon."]
    assert redact_rows("\n".join(rows)) == rows[1]


def test_two_card_numbers_in_one_run_of_digits_are_both_removed() -> None:
    assert redact("4111 1111 1111 1111 4111 1111 1111 1111 2027") == f"{REMOVED} {REMOVED} 2027"


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\n"])
@pytest.mark.parametrize(
    "before", ["My password for", "my password is", "the key to", "PIN", "I changed my password to"]
)
def test_any_number_of_blanks_neither_hides_nor_creates_a_secret(before: str, blank: str) -> None:
    many = blank * 6000
    assert redact(f"{before}{many}") == f"{before}{many}"
    assert redact(f"Hello.{many}My password is{many}hunter2.") == f"Hello.{many}My password is{many}{REMOVED}."


def test_a_key_after_a_long_run_of_keywords_is_removed() -> None:
    row = "key=" * 2_000
    key = "9f86d081884c7d659a2feaa0c55ad015"
    assert redact(row) == row
    assert key not in redact(f"{row} and the token is {key}")


def test_redacting_twice_equals_redacting_once() -> None:
    for text, _ in SECRETS:
        assert redact(redact(text)) == redact(text)


def test_check_digits_are_those_of_the_standards() -> None:
    assert redact("4992 7398 7130 0005") == REMOVED
    assert REMOVED not in redact("4992 7398 7130 0000")
    assert redact("GB82WEST12345698765432") == REMOVED
    assert REMOVED not in redact("GB82WEST12345698765423")


SAFE = string.ascii_letters + string.digits
TALK = st.sampled_from(["I like my dog Pixel. ", "On 6 May we flew home. ", "", "好的。", "Well, "])


@given(TALK, st.text(SAFE + "!#$%&*+-_@", min_size=6, max_size=20).filter(str.strip), TALK)
def test_every_stated_password_is_removed(before: str, secret: str, after: str) -> None:
    secret = f"x{secret}7"
    for statement in (f"my password is {secret}. ", f'Password: "{secret}". ', f"我的密码是{secret}。"):
        assert secret not in (redact_rows(before + statement + after) or "")


@given(TALK, st.text(string.digits, min_size=14, max_size=14), st.sampled_from(["", " ", "-"]), TALK)
def test_every_card_number_is_removed(before: str, digits: str, between: str, after: str) -> None:
    body = "4" + digits
    number = next(body + last for last in string.digits if luhn.is_valid(body + last))
    shown = between.join(number[place : place + 4] for place in range(0, 16, 4))
    assert shown not in (redact_rows(f"{before}it is {shown}, yes. {after}") or "")


@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    kept = redact_rows(text)
    assert kept is None or kept.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["password ", "my password is ", "4", "4111 ", "x", "DE89", "好的", "://", "pin 1 2 ", "."]
)
def test_a_long_repetitive_text_is_redacted_quickly(part: str) -> None:
    text = part * (200_000 // len(part))  # more than a minute if an expression is quadratic
    assert redact(text)
