"""Merge what a user sets and what each paper does into one resolved settings file for each variant.

`planning` is what stage `plan` calls. `papers` reads papers/*.yaml and nothing else; `params` lays params.yaml over
them, and says which value counts; `sections` checks every value; `resolve` makes one variant; `overrides` tells what
departs from the defaults; `code` adds the digests of the code that results depend on.
"""
