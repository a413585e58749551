"""The tree of errors. Whatever a user can mend is raised from here, with the value, the place and the remedy.

DragomanError
├── UserError            something the user can mend (exit code 2)
│   ├── SettingError     a setting is unknown, out of range, or contradicts another
│   ├── DataError        a corpus holds what cannot be used: file and line
│   ├── TextError        a text that cannot be encoded, or a tokenizer that cannot be trained on it
│   ├── FileError        a file or folder is missing, damaged, not writable, or the disk is full
│   ├── ModelError       a model that cannot do what is asked of it, or cannot be built as described
│   ├── DownloadError    a data set or model cannot be fetched
│   └── MissingExtra     an optional package is not installed
└── Interrupted          stopped by a signal; the state is saved (exit code 130 or 143)
"""

from __future__ import annotations

DONE, FAULT, MISTAKE, DONE_WITH_SKIPS = 0, 1, 2, 3


class DragomanError(Exception):
    """Everything this package raises on purpose."""

    exit_code = FAULT


class UserError(DragomanError):
    """A problem with its value, the place where it is, and the remedy."""

    exit_code = MISTAKE

    def __init__(self, problem: str, *, remedy: str, place: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.problem}. {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.remedy, self.place)


def _rebuild(kind: type[UserError], problem: str, remedy: str, place: str) -> UserError:
    return kind(problem, remedy=remedy, place=place)


class SettingError(UserError, ValueError):
    """A setting is unknown, out of range, or contradicts another."""


class DataError(UserError):
    """A corpus holds what cannot be used; the place is file and line."""


class TextError(UserError, ValueError):
    """A text cannot be encoded, or a tokenizer cannot be trained on it."""


class FileError(UserError):
    """A file or folder is missing, damaged, not writable, or the disk is full."""


class ModelError(UserError):
    """A model cannot do what is asked of it, or cannot be built as described."""


class DownloadError(UserError):
    """A data set or a model cannot be fetched."""


class MissingExtra(UserError):  # noqa: N818 - the name says what is wrong
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed",
            remedy=f'Install it with: pip install "dragoman[{extra}]"',
        )
        self.package, self.extra, self.purpose = package, extra, purpose

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_missing, (self.package, self.extra, self.purpose)


def _rebuild_missing(package: str, extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(package, extra=extra, purpose=purpose)


class Interrupted(DragomanError):  # noqa: N818 - an event, not a mistake
    """Stopped by a signal; what was done is saved."""

    def __init__(self, signal_number: int, message: str) -> None:
        super().__init__(signal_number, message)  # both, so that it can be pickled
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number

    def __str__(self) -> str:
        return str(self.args[1])
