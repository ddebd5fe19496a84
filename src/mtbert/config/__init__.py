"""Merge what a user sets and what each paper does into one resolved settings file for each variant: `planning`."""
