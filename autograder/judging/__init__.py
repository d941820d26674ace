"""From a submission's cells to verdicts: student code runs in walled processes, judging here.

    slot     a process of the grader's: Judge, Session, Playing (judge, session, playing)
    zygote   has imported torch and the rest once, runs no student code, forks children (client,
             control; its own side is child/zygote)
    child    one student's walled process: the cells run in it (walled; child/server, child/shell)
    fork     a copy of the child: checks are played against it, so that they leave no trace

A check asks for `student.double(21)`:

1. `Playing` plays the check within `Session.in_fork` and `Session.deadline`.
2. `student.double` stands for the student's function; the call is a message
   (labkit.bridge.student). `SteadyChannel` passes it on. When a check looks at a name again, the
   channel refuses another value than the first time (steady).
3. `Child.request` hands it to the fork's `RemoteChannel`, which sends it with a random id
   (channel). `TimedSocket` limits each read, and `Budget` all waiting of one check.
4. In the fork, child/server gives it to labkit.bridge.executor, which calls the function. If the
   function calls something of the check's, a callback comes first and is answered here.
5. The reply must carry the id. Its value is decoded here, and the check compares it.

The function crashes:

1. The fork's socket closes. `RemoteChannel` raises EOFError.
2. `Child` ends whatever the fork has left, asks how it ended, and raises `ForkDied`.
3. No check catches it. `Playing` notes that this check failed, and plays the rest in a new fork.

The function runs for ever:

1. `TimedSocket` hears nothing for `call_s` seconds, so `RemoteChannel` raises `Overran`.
2. `Child` kills the fork and what it has started. The rest is as above; after two checks without
   an answer in time, the exercise is not asked again.

A cell that crashes takes the child with it: `Session` leaves it out and runs the others again in a
new child. A cell that overruns is interrupted first. `ends` lists all ends in a table.
"""
