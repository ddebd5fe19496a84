"""The report: Markdown, pictures, numbers and one page of the tables of results."""
