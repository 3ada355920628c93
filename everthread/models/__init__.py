"""The models behind the engine: embedders, and the fakes that stand in for them. They know nothing of banks."""
