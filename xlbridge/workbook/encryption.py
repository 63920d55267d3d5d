"""Decryption of workbooks that Excel opens without asking for a password.

Excel encrypts some files, such as those with a protected structure, with a default password that
every copy of Excel knows. The parser process imports this module: it must stay light.
"""

import re
from io import BytesIO

OLE_START = bytes.fromhex("d0cf11e0a1b11ae1")
"""First bytes of a file of old Office programs, and of an encrypted file of any."""

_PACKAGE_STREAM = "EncryptedPackage".encode("utf-16-le")
_DESCRIPTION = "EncryptionInfo"
_DEFAULT_PASSWORD = "VelvetSweatshop"  # noqa: S105 - known to everybody
_AGILE = b"\x04\0\x04\0"
"""Version of encryption in which the file sets how often the password is hashed."""

_REPETITIONS = re.compile(rb"""spinCount\s*=\s*["'](\d{1,9})["']""")
_MAX_REPETITIONS = 1_000_000
"""Ten times as many as Excel's: a hostile file would keep the processor busy."""


def is_encrypted_package(content: bytes) -> bool:
    """Return whether a file is an encrypted .xlsx, .xlsm or .xlsb."""
    return content.startswith(OLE_START) and _PACKAGE_STREAM in content


def decrypted(content: bytes) -> bytes | None:
    """Return a file without encryption, None unless the default password fits."""
    # Slow to import, and only needed here.
    import msoffcrypto
    from olefile import OleFileIO

    if is_encrypted_package(content):
        try:
            with OleFileIO(BytesIO(content)) as container:
                description = container.openstream(_DESCRIPTION).read()
        except (OSError, LookupError, ValueError):
            return None
        counts = _REPETITIONS.findall(description)
        are_known = 0 < len(counts) == description.count(b"spinCount")
        are_few = are_known and max(map(int, counts)) <= _MAX_REPETITIONS
        if description.startswith(_AGILE) and (not are_few or b"<!" in description):
            return None
    plain = BytesIO()
    try:
        file = msoffcrypto.OfficeFile(BytesIO(content))  # type: ignore[no-untyped-call]
        file.load_key(password=_DEFAULT_PASSWORD)
        file.decrypt(plain)
    except Exception:  # of many types, for damaged files as for other passwords
        return None
    return plain.getvalue()
