"""What people read of a race: words, tables, pictures, the page, the live display."""
