"""What `everthread.Client` is made of: the connection to a server, and what comes over it as our own objects."""
