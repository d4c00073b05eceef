"""What every room needs: argument checks, compile options, threads, progress, seeds."""
