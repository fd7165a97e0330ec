"""Options that say how a table is read."""

from dataclasses import dataclass

from hrpursuit.rows.csv import Header


@dataclass(frozen=True)
class Reading:
    """What is asked for when a table is read; the parameters of `read_table`."""

    quantity: str | None = None
    index: str | bool = True
    header: Header = "auto"
    drop: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    comment: str = ""
    thousands: str = ""
    long: tuple[str, str, str] | None = None
    keep_text: bool = False

    def __post_init__(self) -> None:
        if len(self.thousands) > 1 or self.thousands.isdigit():
            raise ValueError(f"thousands must be one mark, such as , or . or a space; got {self.thousands!r}.")
        if self.long is not None and len(set(self.long)) != 3:
            raise ValueError(f"long format has three columns, time, sensor and value; got {', '.join(self.long)}.")
