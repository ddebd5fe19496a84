"""Merge what a user sets and what each paper does into one resolved settings file for each variant.

`planning` is what stage `plan` calls. `papers` reads papers/*.yaml and nothing else; `params` lays params.yaml over
them; `sections` checks every value; `precedence` says which counts; `resolve` makes one variant; `overrides` tells what
departs from the defaults; `code` adds the digests of the code that results depend on.
"""
