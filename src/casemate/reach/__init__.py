"""Makes the gate's tables of names from the libraries of an image, and walks what is reachable through them.

    casemate gate update ──► update.py ──► survey.py ──► a job of ours in a sandbox of the image (inside/*.py)
                              │  ▲             what the libraries have ─► Survey ─► decide.py: tables
                              │  └──────────── what those tables lead to ─► Walk: what must not be reached
                              └─► render.py: the files of gate/tables, if asked

The libraries are third-party code, so they are only ever imported in a sandbox, and what comes back is a claim: it is
bounded and parsed once (report.py), and a name goes into a table only if it is a plain public name, no hand-written
decision is against it, and a walk through the very tables that are proposed met nothing that a script must not have. A
library that lies can admit names of its own objects and hide what they lead to; the gate is a filter, and the walls
stand behind it.

Decisions are people's and stay so: gate/tables/denied_attributes.py says which names are refused and why, decisions.py
which are left out or kept in spite of what was found.
"""
