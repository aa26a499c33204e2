"""Strassen's seven products as a widget takes them."""

from sgemm_lab.widgets.seven_products import SignedProduct


def _product(name: str, left: str, right: str, into: str) -> SignedProduct:
    def terms(matrix: str, text: str) -> list[tuple[str, int]]:
        return [(matrix + term[1:], 1 if term[0] == "+" else -1) for term in text.split()]

    return {
        "name": name,
        "left": terms("A", left),
        "right": terms("B", right),
        "into": terms("C", into),
    }


PRODUCTS = [
    _product("P1", "+11", "+11", "+11 +12 +21 +22"),
    _product("P2", "+12", "+21", "+11"),
    _product("P3", "+21 +22 -11", "+22 -12 +11", "+12 +21 +22"),
    _product("P4", "+11 -21", "+22 -12", "+21 +22"),
    _product("P5", "+21 +22", "+12 -11", "+12 +22"),
    _product("P6", "+12 -21 -22 +11", "+22", "+12"),
    _product("P7", "+22", "+22 -12 +11 -21", "-21"),
]
