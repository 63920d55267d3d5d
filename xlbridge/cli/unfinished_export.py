"""What an export that breaks off leaves to the next, as its user learns of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from xlbridge import __version__
from xlbridge.api.target import Target
from xlbridge.cli.output import remark
from xlbridge.export.filters import Filters
from xlbridge.export.layout import Layout
from xlbridge.export.listing import Listing
from xlbridge.export.unfinished import LONGEST_KEPT, Unfinished
from xlbridge.i18n import Text
from xlbridge.settings import Settings


@contextmanager
def keeping_windows(
    settings: Settings,
    target: Target,
    listing: Listing,
    filters: Filters,
    layout: Layout,
    form: Sequence[str | None],
    *,
    fresh: bool,
) -> Iterator[Unfinished]:
    """Give the place of an export's windows; after a failure, say how many stay there.

    ``form`` is what the lines of the export depend on beside its layout.
    """
    columns = [[s.name, *(column.name for column in s.columns)] for s in layout.sheets(listing)]
    given = {name.value: str(value) for name, value in sorted(filters.given.items())}
    how = [layout.flat, layout.in_detail, layout.keep_unknown, columns, *form]
    whom = [target.profile, target.base_url, target.email]
    asked = [__version__, *whom, listing.name, given, *how]
    unfinished = Unfinished(settings.exports / "unfinished", asked, fresh)
    try:
        yield unfinished
    except BaseException:
        if windows := unfinished.windows():
            remark(
                Text(
                    pt="{n} {n:período já buscado fica guardado|períodos já buscados ficam "
                    "guardados} por {hours} horas; o mesmo "
                    "comando continua dali.",
                    en="{n} {n:window that was fetched is|windows that were fetched are} kept for "
                    "{hours} hours: the same command "
                    "goes on from there.",
                ).format(n=windows, hours=LONGEST_KEPT // timedelta(hours=1))
            )
        raise
