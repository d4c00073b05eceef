"""The page of `ngmca app`: a local server that opens data, runs the command, and shows results."""
