"""Put a function of ours in the place of a framework's, and take it back."""

from collections.abc import Callable
from functools import wraps
from typing import Any


class Patches:
    """The replacements of one integration, made together and undone together.

    Each replacement is called with the original first, and is to call it in every case.
    """

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []
        self._active = False

    def begin(self) -> bool:
        """Start; false where the integration is switched on already."""
        if self._active:
            return False
        self._active = True
        return True

    def replace(self, owner: Any, name: str, ours: Callable[..., Any]) -> None:
        """Replace a method of a class, or a function of a module."""
        original = getattr(owner, name)
        self._undo.append((owner, name, vars(owner).get(name)))

        @wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            return ours(original, *args, **kwargs)

        setattr(owner, name, replacement)

    def undo(self) -> None:
        """Put every original back, the last replaced first."""
        for owner, name, original in reversed(self._undo):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._undo.clear()
        self._active = False
