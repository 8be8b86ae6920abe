"""What the language has, told to people and to editors."""
