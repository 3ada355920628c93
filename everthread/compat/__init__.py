"""Interfaces of other memories, implemented with the banks of Everthread. Each module or package is named after its
original, except those that several share.

A program that was written for the original changes an import and, at most, what it opens.
"""
