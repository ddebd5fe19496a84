"""Result files to tables, course submissions and the page that holds them. Loading stands apart from rendering.

catalog: what was asked for. published: the papers' numbers. results: every score of every run. tables: ours beside
the papers'. markdown, terminal: tables as text. curves: training losses. submissions: the course's files. page: the
index. report: all of them, written.
"""
