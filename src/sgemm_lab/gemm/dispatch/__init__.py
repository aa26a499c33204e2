"""Which kernel for which product: the search, its table, the choice, and the product itself."""
