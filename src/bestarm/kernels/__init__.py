"""The compiled inner loops, and the arrays they work on. Import what you need from its file: Numba loads slowly."""
