"""Encryption of workbooks with a password, like Excel's."""

import hashlib
import io
import struct
from pathlib import Path

import olefile
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from msoffcrypto.format.ooxml import OOXMLFile

DEFAULT = "VelvetSweatshop"
_BOF, _FILEPASS, _BOUNDSHEET, _USER_NAME = 0x809, 0x2F, 0x85, 0x5C
_PLAIN = {_BOF, _FILEPASS, 0x194, 0xE1}
"""Records that stay unencrypted: also of sharing and of the interface."""
_BLOCK = 1024
_SALT, _VERIFIER = bytes(range(16)), bytes(range(16, 32))


def encrypt_package(source: Path, target: Path, password: str = DEFAULT) -> Path:
    """Write an encrypted copy of an .xlsx or .xlsb file."""
    encrypted = io.BytesIO()
    with source.open("rb") as file:
        OOXMLFile(file).encrypt(password, encrypted)
    target.write_bytes(encrypted.getvalue())
    return target


def encrypt_xls(source: Path, target: Path, password: str = DEFAULT) -> Path:
    """Write an encrypted copy of an .xls file ([MS-XLS], 2.2.10, RC4)."""
    with olefile.OleFileIO(source.read_bytes()) as container:
        stream = container.openstream("Workbook").read()
    records, offset = [], 0
    while offset + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, offset)
        records.append((kind, stream[offset + 4 : offset + 4 + size]))
        offset += 4 + size
    # The stream keeps its size: the name of the user makes room for the password's record.
    place = next(n for n, (kind, _) in enumerate(records) if kind == _USER_NAME)
    room = len(records.pop(place)[1])
    cipher = Cipher(ARC4(_key(password, 0)), mode=None).encryptor()
    check = cipher.update(_VERIFIER) + cipher.update(hashlib.md5(_VERIFIER).digest())
    header = struct.pack("<HHH", 1, 1, 1) + _SALT + check
    records.insert(1, (_FILEPASS, header))
    records.insert(2, (0x0, bytes(room - len(header) - 4)))
    content = b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in records)
    cipher_text = b"".join(
        Cipher(ARC4(_key(password, number)), mode=None)
        .encryptor()
        .update(content[number * _BLOCK : (number + 1) * _BLOCK])
        for number in range(len(content) // _BLOCK + 1)
    )
    mixed, offset = bytearray(cipher_text), 0
    for kind, data in records:
        plain = len(data) if kind in _PLAIN else 4 if kind == _BOUNDSHEET else 0
        mixed[offset : offset + 4 + plain] = content[offset : offset + 4 + plain]
        offset += 4 + len(data)
    target.write_bytes(source.read_bytes())
    with olefile.OleFileIO(target, write_mode=True) as container:
        container.write_stream("Workbook", bytes(mixed) + stream[len(content) :])
    return target


def _key(password: str, block: int) -> bytes:
    of_password = hashlib.md5(password.encode("utf-16-le")).digest()[:5]
    salted = hashlib.md5((of_password + _SALT) * 16).digest()[:5]
    return hashlib.md5(salted + struct.pack("<I", block)).digest()
