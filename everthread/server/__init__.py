"""The server: REST, the page, SMS. One process over one store; everything it does, the library does."""
