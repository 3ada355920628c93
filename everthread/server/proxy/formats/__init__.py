"""The formats of requests to language models, one module each: `ModelRequest` is what the proxy needs of them.

To add one, write a module with a subclass of `ModelRequest` and one of `Reply`, name the request's class at its path in
`server/routes/proxy.py`, and give the shape of its errors in `server/model_api.py`. Nothing else knows the formats.
"""
