"""The report: Markdown, pictures, numbers and one page of the two tables of results."""
