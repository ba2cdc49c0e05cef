"""A race on disk and in memory: its settings, its scores, their replay, and the stores that keep them."""
