"""Why the operating system refused something, in both languages."""

import errno
from collections.abc import Mapping

from xlbridge.i18n.text import Text

_REASONS: Mapping[int, Text] = {
    errno.ENOENT: Text(
        pt="o arquivo ou a pasta não existe", en="there is no such file or directory"
    ),
    errno.EACCES: Text(pt="falta permissão", en="permission denied"),
    errno.EPERM: Text(pt="falta permissão", en="permission denied"),
    errno.EISDIR: Text(pt="é uma pasta", en="it is a directory"),
    errno.ENOTDIR: Text(
        pt="parte do caminho não é uma pasta", en="part of the path is not a directory"
    ),
    errno.EEXIST: Text(pt="já existe", en="it exists already"),
    errno.ENOSPC: Text(pt="não há espaço no disco", en="no space left on the disk"),
    errno.EROFS: Text(pt="o disco é só de leitura", en="the disk is read-only"),
    errno.ENAMETOOLONG: Text(pt="o nome é longo demais", en="the name is too long"),
}


def reason_of(failure: OSError) -> Text:
    """Return the reason; one that is not among the usual ones in the system's own words."""
    own = failure.strerror or type(failure).__name__
    return _REASONS.get(failure.errno or 0, Text(pt=own, en=own))
