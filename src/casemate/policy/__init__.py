"""Policies: profiles as data, and the decision whether a host may run under one. Pure: no I/O, no clock."""

from casemate.policy.ceiling import Ceiling, parse_ceiling
from casemate.policy.decide import HostFacts, Plan, decide
from casemate.policy.diff import Difference, diff
from casemate.policy.explain import Explanation, explain
from casemate.policy.profile import Profile, parse
from casemate.policy.rules import Names
from casemate.policy.tighten import tighten

__all__ = [
    "Ceiling", "Difference", "Explanation", "HostFacts", "Names", "Plan", "Profile", "decide", "diff", "explain",
    "parse", "parse_ceiling", "tighten",
]  # fmt: skip
