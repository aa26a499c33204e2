"""The Sphinx side of the book: pages that work offline and widgets that need no kernel."""
