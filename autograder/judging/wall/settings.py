"""The settings of a walled process: what it may see and use, and its time limits."""

from dataclasses import dataclass, fields
from pathlib import Path

RUNGS = ("namespaces", "landlock", "none")
SYSTEM_PATHS = tuple(
    Path("/", name)
    for name in (
        *("usr", "bin", "sbin", "lib", "lib64"),
        *("etc/alternatives", "etc/fonts", "etc/ld.so.cache", "etc/localtime", "etc/mime.types"),
        "etc/ssl",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSettings:
    """How students' processes are made.

    student_path: the folder that holds the students' labkit, None where only the wall is tried;
    preload: modules that the zygote imports once; rung: how strong the wall is; seed: of the
    numbers that the child draws, and of nothing secret.

    read_only: what student code sees besides the system's programs and libraries; hidden: what is
    unreadable although it lies below that. memory_mb bounds each process and, watched by the
    zygote, the whole tree; disk_mb and n_files bound all that it writes. Root is dropped to uid;
    give slots that run side by side different ones. cpu: the processor that all stay on, if it
    matters.

    In seconds: zygote and child to get ready, a cell unless `run_cell` says otherwise, what it gets
    to heed an interrupt, a call of a check.
    """

    student_path: Path | None = None
    preload: tuple[str, ...] = ()
    rung: str = "namespaces"
    seed: int = 0

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
    cpu: int | None = None

    start_s: float = 180.0
    spawn_s: float = 20.0
    cell_s: float = 30.0
    grace_s: float = 1.0
    call_s: float = 10.0
    max_message_mb: int = 64
    max_output_chars: int = 4 << 20

    def __post_init__(self) -> None:
        if self.rung not in RUNGS:
            raise ValueError(f"rung wants one of {', '.join(RUNGS)}, got {self.rung!r}")
        if self.student_path and not Path(self.student_path, "labkit", "__init__.py").is_file():
            raise ValueError(f"{self.student_path} holds no labkit, the students' edition")
        for name in ("read_only", "hidden"):
            paths = tuple(Path(path) for path in getattr(self, name))
            object.__setattr__(self, name, paths)
            for path in paths:
                if not path.is_absolute():
                    raise ValueError(f"{name} wants absolute paths, got {path}")
        for name in (each.name for each in fields(self) if each.type is int):
            value, least = getattr(self, name), 0 if name == "seed" else 1
            if type(value) is not int or value < least:
                raise ValueError(f"{name} wants a positive whole number, got {value!r}")
        for path in self.read_only:
            above = next((other for other in self.hidden if other in (path, *path.parents)), None)
            if above is not None:
                raise ValueError(f"{path} cannot be readable below {above}, which is hidden")

    def real_hidden(self) -> list[Path]:
        """The hidden paths that exist, without symbolic links."""
        return [path.resolve() for path in self.hidden if path.exists()]
