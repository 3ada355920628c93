import re
from importlib.util import find_spec

import pytest

from everthread.common.installation import extra_command
from everthread.embedders.sentence_transformers import SentenceTransformerEmbedder
from everthread.errors import ConfigError

if find_spec("sentence_transformers") is None:

    def test_a_missing_extra_is_an_error_with_the_install_command() -> None:
        with pytest.raises(ConfigError, match=re.escape(extra_command("sentence-transformers"))):
            SentenceTransformerEmbedder("some/model").embed(["x"])
