"""Interfaces of other memories, implemented with the banks of Everthread. Each module is named after its original.

A program that was written for the original changes an import and, at most, what it opens.
"""
