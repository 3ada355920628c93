from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from everthread.text.dates import format_date, format_long_date


@given(st.dates())
def test_a_date_is_formatted_as_in_the_english_locale(day: date) -> None:
    assert format_long_date(day) == f"{day:%A}, {day.day} {day:%B} {day.year:04d}"
    assert format_long_date(day).endswith(f", {format_date(day)}")


def test_a_year_of_three_digits_has_a_zero_before_it() -> None:
    assert format_date(date(987, 6, 2)) == "2 June 0987"
