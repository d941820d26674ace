"""What stands for a name that a waiting cell did not come to bind."""

from typing import Any


class Waiting:
    """Stands for a name that a waiting cell would have bound: any use of it waits as well."""

    def __init__(self, part: str) -> None:
        self.__dict__["part"] = part

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_ipython", "_repr")):
            raise AttributeError(name)
        self.wait()

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Raise what the cell that was to bind the name has raised."""
        error = NotImplementedError(self.__dict__["part"])
        error.part = self.__dict__["part"]
        raise error


USES = """
    setattr delattr call iter next len getitem setitem delitem contains reversed bool str format
    hash int float complex index bytes round abs neg pos invert lt le gt ge eq ne add radd sub rsub
    mul rmul truediv rtruediv floordiv rfloordiv mod rmod divmod rdivmod pow rpow matmul rmatmul
    and rand or ror xor rxor lshift rlshift rshift rrshift enter exit await aiter aenter aexit
""".split()
for use in USES:
    setattr(Waiting, f"__{use}__", Waiting.wait)
