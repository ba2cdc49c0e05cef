"""What comes from outside, read and checked: arms, items, scores, tables, programs, settings as plain values."""
