"""The answer of a page in words: who reached what when, and what chance may explain."""
