"""Shared tools: argument checks, messages, atomic files, compiled kernels, threads, seeds, progress."""
