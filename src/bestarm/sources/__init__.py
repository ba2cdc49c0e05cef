"""What users bring: arms, items, tables and programs, read and validated."""
