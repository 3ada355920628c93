"""Interfaces of other memories, implemented with the banks of Everthread. Each subpackage is named after its original.

Programs that were written for the original work after a change of the import.
"""
