"""Files of instruments, one module for each format family."""
