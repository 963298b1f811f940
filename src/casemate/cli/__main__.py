"""`python -m casemate.cli`."""

import sys

from casemate.cli.main import main

sys.exit(main())
