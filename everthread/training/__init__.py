"""Trains an embedder on pairs of a question and the line that answers it, and exports it for OnnxEmbedder.

`pair_rules` makes pairs from a bank's own lines, `pairs` reads and splits them, `mining` chooses wrong answers, and
`evaluation` measures. `model` and `trainer` need torch, from the extra `train`; the others don't.
"""
