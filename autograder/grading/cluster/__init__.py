"""Grading on many machines with Dask distributed: same marks and messages, byte for byte.

grading      which submission goes where, and again when a worker or the scheduler is lost
connection   the client's end: TLS, and coming back after the scheduler was gone
worker       the workers' end: slots started by exec
keys         the key and certificate that all of them share
"""
