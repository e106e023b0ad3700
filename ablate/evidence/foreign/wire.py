"""Decode Protocol Buffers, and compute the checksums of files that contain such messages.

A verdict needs only a few fields of TensorBoard's event files and of offline W&B runs. This module
reads them without the libraries of TensorBoard and W&B, which take seconds to import. Source:
protobuf.dev/programming-guides/encoding; Castagnoli 1993 for CRC-32C.
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
POLYNOMIAL = 0x82F63B78
Field = int | bytes


class DamagedError(ValueError):
    """The error for bytes that are not a valid Protocol Buffers message or record of a file."""


def fields(message: bytes) -> Iterator[tuple[int, Field]]:
    """Yield number and value of each field in an encoded Protocol Buffers message.

    The value is an integer for a varint, and undecoded bytes for any other type.

    Raises:
        DamagedError: the message ends in the middle of a field, or has an unknown type.
    """
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind == LENGTH:
            size, place = _varint(message, place)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise DamagedError(f"unknown type {kind}")
        if place + size > len(message):
            raise DamagedError("a field is cut off")
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(message) or shift > 63:
            raise DamagedError("a number is cut off")
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def first(message: bytes, number: int) -> Field | None:
    """Return the value of a field; None if the field is missing.

    If the field occurs several times, the last occurrence is valid, as Protocol Buffers specify.

    Args:
        message: an encoded Protocol Buffers message.
        number: field number.
    """
    return next((value for key, value in reversed([*fields(message)]) if key == number), None)


def text(message: bytes, number: int) -> str:
    """Return a text field of an encoded message by its field number; "" if the field is missing."""
    value = first(message, number)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def signed(value: Field | None) -> int:
    """Return the value of a varint field as a signed 64-bit integer; 0 if the field is missing."""
    if not isinstance(value, int):
        return 0
    return value - (1 << 64) if value >= 1 << 63 else value


def double(value: Field | None) -> float:
    """Return the value of a 64-bit float field; 0 if the field is missing."""
    return float(struct.unpack("<d", value)[0]) if isinstance(value, bytes) else 0.0


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _table()


def crc32c(content: bytes, crc: int = 0) -> int:
    """Return the CRC-32C checksum of bytes."""
    crc ^= 0xFFFFFFFF
    for byte in content:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(content: bytes) -> int:
    """Return the masked CRC-32C checksum that event files store."""
    crc = crc32c(content)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
