"""This process on its machine: cores, memory, linear algebra, garbage, processes it starts."""
