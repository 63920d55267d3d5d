"""The texts that the cells of a workbook share."""

from xlbridge.workbook.changing.changed_package import (
    WORKBOOK,
    ChangedPackage,
    child,
    local_name,
    parse,
)


def rich_texts(package: ChangedPackage) -> frozenset[int]:
    """Return the numbers of the shared texts that have parts in formats of their own."""
    part = package.related(WORKBOOK, "sharedStrings")
    if part is None or part not in package:
        return frozenset()
    texts = (item for item in parse(package.read(part)) if local_name(item) == "si")
    return frozenset(n for n, item in enumerate(texts) if child(item, "r") is not None)
