"""The REST API, with one module for each noun. A route checks the key, calls the library, and returns the result."""
