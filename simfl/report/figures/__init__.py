"""What pictures drawn with matplotlib share: how lines look, where their names stand, files."""
