"""From what was recalled to the text of a prompt."""
