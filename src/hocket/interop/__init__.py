"""Bridges to other libraries: what they have becomes hocket's, and what hocket has theirs. Nothing is loaded by itself."""
