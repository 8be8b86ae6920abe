"""How clients step along their gradients: one optimizer a file; `base.py` is the seam."""
