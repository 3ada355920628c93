"""Facts about people and things, derived from lines, each with its lines and the time in which it holds.

The statements of lines are stored as units of kind `fact`, and nothing else is. Facts, their validity and the entities
that they are about are computed from the statements that remain. So a line that is corrected, retracted or forgotten
takes what it stated along, and what it had ended or replaced holds again.
"""
