"""How many examples a property test tries."""

from hypothesis import settings

FULL_EXAMPLES = 100  # of a property test that names no number, in the profile "thorough"


def examples(count: int) -> settings:
    """Return settings with a number of examples, of which a profile with fewer examples tries its share."""
    profile = settings()
    return settings(profile, max_examples=max(1, count * profile.max_examples // FULL_EXAMPLES))
