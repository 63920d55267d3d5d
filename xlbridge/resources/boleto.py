"""Bank-slip codes: the 44-digit barcode and the typed line.

Source: the layouts of FEBRABAN for collection slips (47 digits typed) and for utility bills
(48 digits typed, first digit 8).
"""

from collections.abc import Sequence

_BARCODE, _TYPED_SLIP, _TYPED_BILL = 44, 47, 48


def is_boleto(code: str) -> bool:
    """Tell whether ``code`` is a barcode or typed line whose check digits are all right.

    Spaces, points and hyphens between the digits are allowed.
    """
    digits = code.translate(str.maketrans("", "", " .-"))
    if not (digits.isascii() and digits.isdigit()):
        return False
    if digits.startswith("8"):
        return _is_bill(digits)
    if len(digits) == _TYPED_SLIP:
        fields = (digits[0:10], digits[10:21], digits[21:32])
        if any(_mod10(field[:-1]) != field[-1] for field in fields):
            return False
        digits = digits[:4] + digits[32:] + digits[4:9] + digits[10:20] + digits[21:31]
    return len(digits) == _BARCODE and digits[4] == _slip_digit(digits[:4] + digits[5:])


def _is_bill(digits: str) -> bool:
    check = _mod10 if digits[2] in "67" else _bill_mod11
    if len(digits) == _TYPED_BILL:
        blocks = [digits[start : start + 12] for start in range(0, _TYPED_BILL, 12)]
        if any(check(block[:-1]) != block[-1] for block in blocks):
            return False
        digits = "".join(block[:-1] for block in blocks)
    return len(digits) == _BARCODE and digits[3] == check(digits[:3] + digits[4:])


def _weighted(digits: str, weights: Sequence[int]) -> list[int]:
    backwards = enumerate(reversed(digits))
    return [int(digit) * weights[place % len(weights)] for place, digit in backwards]


def _mod10(digits: str) -> str:
    total = sum(sum(divmod(product, 10)) for product in _weighted(digits, (2, 1)))
    return str(-total % 10)


def _mod11(digits: str) -> int:
    return sum(_weighted(digits, range(2, 10))) % 11


def _slip_digit(digits: str) -> str:
    digit = 11 - _mod11(digits)
    return str(digit if digit in range(2, 10) else 1)


def _bill_mod11(digits: str) -> str:
    rest = _mod11(digits)
    return str({0: 0, 1: 0, 10: 1}.get(rest, 11 - rest))
