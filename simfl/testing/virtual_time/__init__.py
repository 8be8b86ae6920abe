"""Closed forms that virtual time must obey, and runs put together by hand to measure them."""
