"""What makes numbers of runs other than they look, and what is said of it beside them."""
