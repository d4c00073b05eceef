"""Profiles that follow a rate law: their A-step, and the error bars of their rate constants."""
