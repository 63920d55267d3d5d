"""Why the operating system refused to write something, and what to do, in both languages."""

import errno
from collections.abc import Mapping
from pathlib import Path

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
    errno.EFBIG: Text(
        pt="o arquivo passa do tamanho permitido", en="the file exceeds the size that is allowed"
    ),
}

_CLOSED_OR_ELSEWHERE = Text(
    pt="Feche o arquivo se ele estiver aberto no Excel, ou grave noutra pasta.",
    en="Close the file if it is open in Excel, or write to another folder.",
)
_REMEDIES: Mapping[int, Text] = {
    errno.ENOENT: Text(
        pt="Crie a pasta, ou grave noutra.", en="Create the folder, or write to another one."
    ),
    errno.ENOSPC: Text(
        pt="Libere espaço, ou grave noutro disco.", en="Free some space, or write to another disk."
    ),
    errno.EACCES: _CLOSED_OR_ELSEWHERE,
    errno.EPERM: _CLOSED_OR_ELSEWHERE,
    errno.EROFS: Text(pt="Grave noutra pasta.", en="Write to another folder."),
    errno.ENAMETOOLONG: Text(pt="Dê um nome mais curto.", en="Give it a shorter name."),
    errno.EFBIG: Text(
        pt="Grave noutro disco, ou aumente o limite do tamanho de arquivos.",
        en="Write to another disk, or raise the limit on the size of files.",
    ),
}
_PERMISSIONS = Text(
    pt="Confira as permissões da pasta, ou use outra; a do próprio xlbridge se escolhe com "
    "XLBRIDGE_HOME.",
    en="Check the permissions of the folder, or use another one; xlbridge's own is chosen by "
    "XLBRIDGE_HOME.",
)
_USUAL_REMEDY = Text(
    pt="Confira a pasta, e feche o arquivo se ele estiver aberto no Excel.",
    en="Check the folder, and close the file if it is open in Excel.",
)


def reason_of(failure: OSError) -> Text:
    """Return the reason; one that is not among the usual ones in the system's own words."""
    own = failure.strerror or type(failure).__name__
    return _REASONS.get(failure.errno or 0, Text(pt=own, en=own))


def remedy_of(failure: OSError) -> Text:
    """Return what a person can do about a file that could not be written."""
    if isinstance(failure, PermissionError) and _is_of_a_folder(failure):
        return _PERMISSIONS
    return _REMEDIES.get(failure.errno or 0, _USUAL_REMEDY)


def _is_of_a_folder(failure: OSError) -> bool:
    """Whether no file stands at the path: its folder does not let one be made, or is meant."""
    path = failure.filename2 or failure.filename
    try:
        return path is not None and not Path(path).is_file()
    except PermissionError:
        # Its folder may not even be entered.
        return True
