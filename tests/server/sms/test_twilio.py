"""Twilio's signatures, TwiML and REST API."""

import xml.etree.ElementTree as ET

import pytest
from hardship import twilio
from hardship.llm import closed_port
from hypothesis import given
from hypothesis import strategies as st

from everthread.server.sms import twilio as sms_twilio
from everthread.server.sms.twilio import RecipientOptedOut, TwilioSender, compute_signature, is_signed, render_twiml

# The example in Twilio's documentation on validating requests, and in the tests of its libraries.
URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
FIELDS = [
    ("CallSid", "CA1234567890ABCDE"),
    ("Caller", "+14158675309"),
    ("Digits", "1234"),
    ("From", "+14158675309"),
    ("To", "+18005551212"),
]
SIGNATURE = "RSOYDt4T1cUTdK1PDd93/VVr8B8="


def test_the_signature_of_twilios_example_is_reproduced() -> None:
    assert compute_signature("12345", URL, FIELDS) == SIGNATURE
    assert compute_signature("12345", URL, FIELDS[::-1]) == SIGNATURE


def test_a_signature_is_valid_for_one_request_only() -> None:
    assert is_signed("12345", URL, FIELDS, SIGNATURE)
    assert not is_signed("54321", URL, FIELDS, SIGNATURE)
    assert not is_signed("12345", URL.replace("foo=1", "foo=2"), FIELDS, SIGNATURE)
    assert not is_signed("12345", URL, [*FIELDS, ("Extra", "1")], SIGNATURE)
    assert not is_signed("12345", URL, FIELDS, "")
    assert not is_signed("12345", URL, FIELDS, "ünsigned")


def test_the_default_port_is_optional_and_a_fragment_is_not_signed() -> None:
    plain, with_port = "https://bot.example.com/sms", "https://bot.example.com:443/sms"
    for configured in (plain, with_port, f"{plain}#rc=3&rp=all"):
        for called in (plain, with_port):
            assert is_signed("12345", configured, FIELDS, compute_signature("12345", called, FIELDS))
    assert not is_signed("12345", plain, FIELDS, compute_signature("12345", "https://bot.example.com:8443/sms", FIELDS))


def test_each_value_of_a_repeated_field_is_signed() -> None:
    twice = [("x", "2"), ("x", "1"), ("x", "1")]
    assert compute_signature("t", URL, twice) == compute_signature("t", URL, [("x", "1"), ("x", "2")])
    assert compute_signature("t", URL, twice) != compute_signature("t", URL, [("x", "1")])


@given(st.lists(st.text()))
def test_any_text_renders_as_valid_xml(texts: list[str]) -> None:
    root = ET.fromstring(render_twiml(texts))
    assert len(root) == len(texts)


def test_xml_markup_in_a_message_is_escaped() -> None:
    assert ET.fromstring(render_twiml(["<b>1 & 2</b>"]))[0].text == "<b>1 & 2</b>"
    assert render_twiml([]) == b'<?xml version="1.0" encoding="UTF-8"?><Response></Response>'


def test_a_message_is_sent_as_twilio_documents() -> None:
    with twilio.api() as api:
        assert TwilioSender("AC1", "secret", api.url).send(["One.", "Two."], to="+1", sender="+2")
    assert api.asked == [("/2010-04-01/Accounts/AC1/Messages.json", "Basic QUMxOnNlY3JldA==")] * 2
    assert api.sent == [{"To": "+1", "From": "+2", "Body": text} for text in ("One.", "Two.")]


def test_a_rate_limited_message_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sms_twilio, "RETRY_DELAYS_S", (0.01, 0.01))
    with twilio.api() as api:
        api.statuses = [(429, 20429), (503, 0)]
        assert TwilioSender("AC1", "secret", api.url).send(["One."], to="+1", sender="+2")
    assert len(api.asked) == 3
    assert len(api.sent) == 1


def test_a_rejected_message_is_not_retried_and_later_ones_are_not_sent() -> None:
    with twilio.api() as api:
        api.statuses = [(400, 21211)]
        assert not TwilioSender("AC1", "secret", api.url).send(["One.", "Two."], to="+1", sender="+2")
    assert len(api.asked) == 1


def test_an_opted_out_recipient_raises_an_error() -> None:
    with twilio.api() as api:
        api.statuses = [(400, 21610)]
        with pytest.raises(RecipientOptedOut):
            TwilioSender("AC1", "secret", api.url).send(["One."], to="+1", sender="+2")


def test_a_message_to_an_unreachable_twilio_counts_as_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sms_twilio, "RETRY_DELAYS_S", (0.01, 0.01))
    with closed_port() as port:
        assert not TwilioSender("AC1", "secret", f"http://127.0.0.1:{port}").send(["One."], to="+1", sender="+2")
