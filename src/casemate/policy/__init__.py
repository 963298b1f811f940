"""Policies: profiles as data, and the decision whether a host may run under one. Pure: no I/O, no clock."""

from casemate.policy.decide import HostFacts, Plan, decide
from casemate.policy.profile import Profile, parse

__all__ = ["HostFacts", "Plan", "Profile", "decide", "parse"]
