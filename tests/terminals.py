"""A terminal of the tests: a stream that keeps what would be on its screen."""

import io
import re

CODES = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b([D78])|([\r\n])|(.)", re.DOTALL)


class Screen(io.StringIO):
    """A terminal of so many columns and rows, with all lines that have left it at the top.

    It knows the codes that a live display uses, and lines that wrap at the last column as terminals do it: the cursor
    stays there until the next character, and forgets that it was to wrap when it is moved.
    """

    encoding = "utf-8"

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.columns, self.rows = columns, rows
        self.lines = [[" "] * columns for _ in range(rows)]
        self.gone: list[str] = []
        self.row = self.column = 0
        self.kept = (0, 0)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for number, letter, escape, end, plain in CODES.findall(text):
            if letter:
                self._control(letter, int(number or 0))
            elif escape:
                self._escape(escape)
            elif end:
                self.column = 0  # a new line begins at its first column
                if end == "\n":
                    self._down()
            else:
                self._put(plain)
        return len(text)

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self._down()
        self.lines[self.row][self.column] = character
        self.column += 1

    def _down(self) -> None:
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.gone.append("".join(self.lines.pop(0)).rstrip())
            self.lines.append([" "] * self.columns)

    def _escape(self, letter: str) -> None:
        self.column = min(self.column, self.columns - 1)
        if letter == "D":
            self._down()
        elif letter == "7":
            self.kept = self.row, self.column
        else:
            self.row, self.column = self.kept

    def _control(self, letter: str, number: int) -> None:
        if letter == "A":
            self.row = max(0, self.row - number)
        elif letter in "JK":
            self.lines[self.row][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1, self.rows if letter == "J" else 0):
                self.lines[row] = [" "] * self.columns
        elif letter != "m":
            raise AssertionError(f"an unknown code: {letter}")

    @property
    def text(self) -> list[str]:
        """All lines down to the last one that is not blank."""
        lines = [*self.gone, *("".join(line).rstrip() for line in self.lines)]
        while lines and not lines[-1]:
            lines.pop()
        return lines
