"""The server: what round policies share, in pieces of one idea each."""
