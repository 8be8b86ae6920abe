"""What pictures drawn with matplotlib share: how lines look, and files."""
