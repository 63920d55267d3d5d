"""What is to be made of a listing's answers, as far as its models say it."""

from collections.abc import Sequence

from xlbridge.api.records import ENVELOPE_NAMES, shape_of
from xlbridge.export.flatten import Rearrange
from xlbridge.export.lines import LineForm
from xlbridge.export.listing import Listing
from xlbridge.export.part_making import Recipe
from xlbridge.export.sheet import Sheet


def recipe_of(
    listing: Listing,
    sheets: Sequence[Sheet],
    forms: Sequence[LineForm],
    rearrange: Rearrange | None = None,
    *,
    keep_unknown: bool = False,
) -> Recipe:
    """Return how answers to a listing become lines of some sheets."""
    return Recipe(
        shape=shape_of(listing.model, keep_unknown=keep_unknown),
        envelope=ENVELOPE_NAMES,
        key=listing.key,
        sheets=sheets,
        forms=forms,
        rearrange=rearrange,
        totals=listing.totals,
        is_dated=listing.cap is not None,
    )


def keys_only(listing: Listing) -> Recipe:
    """Return how answers to a listing become the keys of its records."""
    return Recipe(
        shape=shape_of(listing.model),
        envelope=ENVELOPE_NAMES,
        key=listing.key,
        is_dated=listing.cap is not None,
    )
