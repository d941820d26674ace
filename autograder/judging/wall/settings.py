"""What a walled process may see and use."""

from dataclasses import dataclass, fields
from pathlib import Path

SYSTEM_PATHS = tuple(
    map(
        Path,
        [
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib64",
            "/etc/alternatives",
            "/etc/fonts",
            "/etc/ld.so.cache",
            "/etc/localtime",
            "/etc/mime.types",
            "/etc/ssl",
        ],
    )
)


@dataclass(frozen=True, slots=True)
class WallSettings:
    """What student code sees (besides the system's programs and libraries) and its limits.

    `hidden` paths are unreadable although they lie below a read-only one. `memory_mb` bounds each
    process and, watched by the zygote, the whole tree; `disk_mb` and `n_files` bound all that it
    writes. Root is dropped to `uid`; give slots that run side by side different ones.
    """

    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    memory_mb: int = 2048
    disk_mb: int = 256
    n_files: int = 20_000
    file_mb: int = 128
    cpu_s: int = 300
    n_processes: int = 64
    n_open_files: int = 256
    uid: int = 65534

    def __post_init__(self) -> None:
        for name in ("read_only", "hidden"):
            paths = tuple(Path(path) for path in getattr(self, name))
            object.__setattr__(self, name, paths)
            for path in paths:
                if not path.is_absolute():
                    raise ValueError(f"{name} wants absolute paths, got {path}")
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{field.name} wants a positive whole number, got {value!r}")
        for path in self.read_only:
            above = next((other for other in self.hidden if other in (path, *path.parents)), None)
            if above is not None:
                raise ValueError(f"{path} cannot be readable below {above}, which is hidden")

    def real_hidden(self) -> list[Path]:
        """The hidden paths that exist, without symbolic links."""
        return [path.resolve() for path in self.hidden if path.exists()]
