"""Two loops that serve many requests: continuous batching, prefill and decode apart.

Many requests are served on two servers, one for prefill and one for decode, on a virtual clock:

workload   what clients ask for, what the servers hold, what their work takes
log        all that happened in a run, and stretches of time in it
servers    the primitives that a scheduler calls; every call goes into the log
driver     lets two loops run, in the order of time or against it
replay     a log read again: who waited and who held what at each place; rules and faults
rules      the rules of the lab, each also a check of a loop in `checks`
policies   other ways to make batches
metrics    what users and operators see, and bounds to hold it against
timeline   a run as a picture
real       the same loops on a real model
"""
