"""Serving many requests on two servers, one for prefill and one for decode, on a virtual clock.

workload   what clients ask for, and what the model would answer
servers    the primitives that a scheduler calls; every call goes into a log
driver     lets two loops run, in the order of time or against it
rules      what must hold, read off the log alone
metrics    what users and operators see: latencies, throughput, waste
yardsticks bounds and laws that any run can be held against
"""
