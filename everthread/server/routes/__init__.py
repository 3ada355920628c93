"""The REST API, one noun a file. A route checks who asks, calls the library, and says what came of it."""
