"""What people see of a race: the result, its verdict, table, figure, page and live display."""
