"""A fleet before anything is trained: what is known of it, in words and drawn."""
