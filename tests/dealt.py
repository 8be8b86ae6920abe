"""Six samples, and three clients that they are dealt to, one of whom gets none."""

import numpy as np

LABELS = np.array([0, 0, 1, 2, 1, 0])
DEALT = [np.array([0, 2]), np.array([], dtype=np.int64), np.array([5, 1, 3])]
