"""What stands for a name that a waiting cell did not come to bind."""

from typing import Any


class Waiting:
    """The value of a name that a waiting cell should have bound: any use of it waits as well."""

    def __init__(self, part: str) -> None:
        self.__dict__["part"] = part

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_ipython", "_repr")):
            raise AttributeError(name)
        self.wait()

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Raise the exception of the cell that should have bound the name."""
        error = NotImplementedError(self.__dict__["part"])
        error.part = self.__dict__["part"]
        raise error


USES = (  # the names of special methods, without their underscores
    *"setattr delattr getitem setitem delitem contains call len iter next reversed".split(),
    *"bool str format bytes int float complex index hash round abs neg pos invert".split(),
    *"lt le gt ge eq ne enter exit await aiter aenter aexit".split(),
    *"add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod".split(),
    *"divmod rdivmod pow rpow matmul rmatmul lshift rlshift rshift rrshift".split(),
    *"and rand or ror xor rxor".split(),
)
for use in USES:
    setattr(Waiting, f"__{use}__", Waiting.wait)
