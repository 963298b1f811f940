"""The adversarial suite that users run on their own host, and the table of what the boundary is.

run        starts the stage (a process of its own) and gathers what it found
stage      the program there: canaries, listeners, sandboxes, verdicts
tables     what is tried, a row for each probe; `probes/` the plain Python that runs inside
judge      pure: what was seen outside and what was answered → held, open or inconclusive
harness    where attacks with a guard taken out run; guards.py says what is taken out
"""
