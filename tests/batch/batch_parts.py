"""What the tests of batches are made of."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

from stdnum.br import cnpj

WritePlan = Callable[[str], Path]

_numbers = itertools.count(1)


def new_cnpj() -> str:
    """A CNPJ that no other test has used."""
    base = f"{os.getpid() % 10_000:04d}{next(_numbers):04d}0001"
    return base + str(cnpj.calc_check_digits(base))
