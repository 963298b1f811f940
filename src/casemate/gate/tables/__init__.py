"""The gate's rules as data: one module per rule family, one entry per line, each with its reason.

A change of the gate's policy is a change of a line here; the code beside this package does not name a single library
function.
"""
