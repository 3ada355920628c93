"""Writers of the formats that a bank is exported in apart from JSON Lines, one module a format. Each has
`write(records) -> Iterator[str]`, which yields the text of a file and holds one session at a time in memory."""
