"""The report: Markdown, pictures, numbers and one page of the three tables of results."""
