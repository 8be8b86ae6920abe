"""What the executor `ray` does on a Ray cluster: connect, hand out tasks, add models up."""
