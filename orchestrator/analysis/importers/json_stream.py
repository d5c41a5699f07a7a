"""Reads a JSON file of any size piece by piece: the items of one array, and what stands beside it.

Memory holds one item at a time. The files of other harnesses keep their trials in one array of a document whose
other members are small, and hold NaN, which Python's decoder takes and other streaming parsers refuse.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from orchestrator.analysis.importers.base import UnreadableImportError

_CHUNK = 1 << 18
_DECODER = json.JSONDecoder()
_Piece = tuple[Literal["member", "array", "item"], str, object]


@dataclass(frozen=True, slots=True)
class Outline:
    """What stands beside the arrays asked for, by names joined by dots, and how many items each of them has."""

    members: Mapping[str, object]
    arrays: Mapping[str, int]


def outline(path: Path, *arrays: str) -> Outline:
    """Everything but the items of these arrays ("" is the document itself), in one pass to the file's end.

    Raises UnreadableImportError for a file that is no JSON or ends too early, before a single item was used.
    """
    members: dict[str, object] = {}
    counted: dict[str, int] = {}
    for kind, name, value in _walk(path, arrays):
        if kind == "member":
            members[name] = value
        else:
            counted[name] = counted.get(name, 0) + (kind == "item")
    return Outline(members, counted)


def items(path: Path, array: str) -> Iterator[object]:
    """The items of one array, one by one; none where it is not there. Raises UnreadableImportError like outline."""
    return (value for kind, _, value in _walk(path, (array,)) if kind == "item")


def _walk(path: Path, arrays: Sequence[str]) -> Iterator[_Piece]:
    try:
        with path.open(encoding="utf-8-sig") as stream:
            reader = _Reader(stream)
            yield from _pieces(reader, "", arrays)
            if reader.peek():
                raise ValueError("something follows the end of the document")
    except (ValueError, OSError, RecursionError) as error:
        raise UnreadableImportError(
            f"{path} was asked for as JSON, but cannot be read ({error}): it may be cut off."
        ) from None


def _pieces(reader: "_Reader", name: str, arrays: Sequence[str]) -> Iterator[_Piece]:
    """An array's start and its items, the members of an object on the way to one, or a whole value."""
    first = reader.peek()
    if first == "[" and name in arrays:
        yield "array", name, None
        for _ in reader.sequence("[", "]"):
            yield "item", name, reader.value()
    elif first == "{" and (not name or any(array.startswith(f"{name}.") for array in arrays)):
        for _ in reader.sequence("{", "}"):
            key = str(reader.value())
            reader.expect(":")
            yield from _pieces(reader, f"{name}.{key}" if name else key, arrays)
    else:
        yield "member", name, reader.value()


class _Reader:
    """A window on a text: what was taken is dropped, and more is read when a value does not end in it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """The next character that is no blank, or nothing at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        found = self.peek()
        if found != character:
            raise ValueError(f"{character!r} was expected and {found!r} found" if found else "the text ends too early")
        self._at += 1

    def sequence(self, opening: str, closing: str) -> Iterator[None]:
        """Stops before each element between two brackets; the caller takes it."""
        self.expect(opening)
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            if self.peek() == closing:
                self._at += 1
                return
            self.expect(",")

    def value(self) -> object:
        """The next value, whole. What is read at once doubles, so that a long one is decoded few times."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise
                continue
            # A number may go on behind the window's end, also after a point that is no part of it yet.
            if isinstance(value, int | float) and not self._text[end:].strip("0123456789.eE+-") and self._more():
                continue
            self._at = end
            return value

    def _more(self) -> bool:
        left = self._text[self._at :]
        read = self._stream.read(max(_CHUNK, len(left)))
        self._text, self._at = left + read, 0
        return bool(read)
