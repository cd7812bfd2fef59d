"""The documentation site, from the pages, the README and the docstrings: ``scripts/site``.

- `pages` copies what is written by hand to where the generator reads it, and points its links at the site.
- `reference` writes a page for every public package, which asks the generator for each name's docstring.
- `navigation` puts both into one table of contents.
- `search` puts what the search finds into an order that leads to the page that one wants.
- `check` reads the site that came out: nothing of the outside is loaded, no link is broken, no public name is missing.

The generator is Zensical, with mkdocstrings (docs/decisions has the reasons). Its settings are in ``mkdocs.yml``.
"""
