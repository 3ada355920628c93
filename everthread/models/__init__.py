"""The models behind the engine: embedders, and the fakes that stand in for them in tests. They know nothing of banks."""
