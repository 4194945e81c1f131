"""NumPy without its warnings on inf and nan, which are results here and not accidents."""

import numpy as np


def quiet() -> np.errstate:
    """For a `with` block around arithmetic on arrays; per thread, and put back at its end."""
    return np.errstate(all="ignore")
