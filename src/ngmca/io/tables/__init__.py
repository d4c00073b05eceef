"""Tables of numbers as text and in spreadsheets."""
