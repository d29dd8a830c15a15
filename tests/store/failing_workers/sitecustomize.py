"""Has every Python process that finds this directory on its path run on the failing disk that its environment names:
Spark's workers are such processes."""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3]))
if "MQCTL_TEST_FAULTS" in os.environ:
    from tests.store.failing_disk import install_named

    install_named()
