"""Modules of PyTorch that architectures are built of; imported only when one is built."""
