"""Every way out to somebody else's address."""

from __future__ import annotations

from casemate.verify.model import Probe

MINIMUM = 2

PROBES = (
    Probe("network.tcp-metadata", "TCP to a cloud's metadata service", "platform metadata",
          "dial('tcp', '169.254.169.254', 80)", "network", "log", "network"),
    Probe("network.tcp-public", "TCP to a public address", "egress",
          "dial('tcp', '8.8.8.8', 443)", "network", "log", "network"),
)  # fmt: skip
