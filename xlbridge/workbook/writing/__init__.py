"""New workbooks: the blank template, rows in its layout, an older workbook moved into it."""
