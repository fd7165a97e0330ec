"""Chunks of a source that is read once, from its front."""

from collections.abc import Callable, Iterator

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.files.header import Header
from hrpursuit.compression.files.index import Index
from hrpursuit.compression.files.listing import rows_in_words
from hrpursuit.compression.files.members import Member
from hrpursuit.compression.files.scan import Scan


def streamed(
    scan: Scan, first: Header, left_out: Callable[[DamagedFile], None], joined: Callable[[Header], None]
) -> Iterator[tuple[Member, Frame]]:
    """Chunks as they come, each with the header that it belongs to; what is lost or does not fit is `left_out`. Headers
    of files that follow are `joined`, also where these have no rows.
    """
    member: Member | None = Member(first)
    n_before = row = 0
    for offset, block in scan.blocks():
        if isinstance(block, Header):
            n_before, row, member = n_before + row, 0, None
            try:
                member = Member.joined(first, block, offset, n_before)
                joined(block)
            except DamagedFile as error:
                left_out(error)
            continue
        if member is None:
            continue  # it was said why
        problem = _problem(block, row)
        if problem:
            left_out(DamagedFile(f"{rows_in_words(member, *problem[1])} are {problem[0]}"))
        if isinstance(block, Frame) and block.first_row >= row:
            yield member, block
        row = max(row, block.stop_row)


def _problem(block: Frame | Index, row: int) -> tuple[str, tuple[int, int]] | None:
    """What is wrong with a block where so many rows came before it, and with which rows."""
    if isinstance(block, Index):
        return ("lost", (row, block.stop_row)) if block.stop_row > row else None
    if block.first_row < row:
        return "there twice", (block.first_row, block.stop_row)
    return ("lost", (row, block.first_row)) if block.first_row > row else None
