"""One command a file, each importing what it needs only when it runs."""
