from __future__ import annotations

import json
import logging
import sys

from everthread.common.json_logs import JSONFormatter


def test_an_error_is_logged_by_its_type_and_place_and_not_by_its_message() -> None:
    try:
        int("My sister Mia")
    except ValueError:
        record = logging.LogRecord("everthread", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    entry = json.loads(JSONFormatter().format(record))
    assert (entry["message"], entry["error"], entry["level"]) == ("failed", "ValueError", "error")
    assert entry["where"][0].endswith("test_an_error_is_logged_by_its_type_and_place_and_not_by_its_message")
    assert "Mia" not in json.dumps(entry)
