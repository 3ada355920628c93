"""The REST API, one noun a file. A route checks the key, calls the library, and returns the result."""
