"""One store over several places: folders and databases, each bank in one of them."""
