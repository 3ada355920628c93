"""A server of the Model Context Protocol: offers a bank to agents as tools, resources and prompts.

It needs the extra `mcp`. `everthread mcp` runs it over standard input and output; the server mounts it at /mcp.
"""
