"""Result files to tables, course submissions and the page that holds them. Loading stands apart from rendering.

catalog: what was asked for, and what has run of it. published: the papers' numbers. results: every score of every run.
tables: ours beside the papers'. claims, verdicts: what is claimed, and what our runs say of it. sections: what the
report shows, a file each. report: all of them, written. readme, page: their first page, and all of them as one page.
"""
