"""``python -m sgemm_lab`` is the command ``sgemm-lab``."""

import sys

from sgemm_lab.cli.main import main

sys.exit(main())
