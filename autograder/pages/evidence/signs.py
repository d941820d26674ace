"""Signs in a student's code that a person may want to look at; the code is read, never run.

Finding nothing proves nothing, and finding something proves little: each sign says what stands
where, and a person decides.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from autograder.names import parsed

SERVERS = frozenset(
    "vllm sglang lmdeploy tensorrt_llm llama_cpp mlc_llm exllamav2 ctranslate2 ollama "
    "text_generation aphrodite lightllm".split()
)
REACHING_OUT = frozenset(
    "gc.get_objects gc.get_referrers gc.get_referents sys._getframe sys._current_frames "
    "sys.modules sys.meta_path sys.path_hooks sys.settrace sys.setprofile inspect.stack "
    "inspect.currentframe inspect.getouterframes os._exit os.kill os.fork".split()
)
FRAME_ATTRIBUTES = frozenset("f_back f_locals f_globals f_builtins tb_frame gi_frame".split())
SHELL_HOOKS = frozenset(
    "ast_transformers input_transformers_cleanup input_transformers_post".split()
)
GRADER_MODULES = (
    "autograder",
    "labkit.checks",
    "labkit.bridge.executor",
    "labkit.bridge.frames",
    "labkit.bridge.wire",
    "nbgrader",
)
SYSTEM_MODULES = frozenset("ctypes cffi _ctypes ptrace".split())
PATCHED = frozenset(
    "builtins torch numpy math time json operator functools random labkit IPython sys".split()
)
SWITCHES = ("torch.backends.", "sys.std", "numpy.random.")  # settings that are there to be set
AGREEING = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __instancecheck__".split())
SHELL_SERVER = re.compile(rf"^[ \t]*[!%].*\b({'|'.join(sorted(SERVERS))})\b", re.MULTILINE)
SERVER = re.compile("|".join(sorted(SERVERS)))
SECRET_PLACE = re.compile(r"^/proc(?:/|$)|gradebook\.db")
TELLING = frozenset(
    name.rpartition(".")[2] for name in (*REACHING_OUT, *FRAME_ATTRIBUTES, *SHELL_HOOKS, *AGREEING)
) | frozenset("import proc gradebook setattr __builtins__".split())
WORD = re.compile(r"\w+")
ATTRIBUTE_SET = re.compile(r"^[ \t]*(?!self\b)\w+(?:\.\w+)+[ \t]*[=,]", re.MULTILINE)


def servers_in(source: str) -> list[str]:
    """The inference servers that code imports, or installs and starts from the shell."""
    if not SERVER.search(source):
        return []
    found = {root for root in map(_root, imports_in(source).values()) if root in SERVERS}
    return sorted(found | set(SHELL_SERVER.findall(source)))


def attempts_in(source: str, imported: Mapping[str, str] | None = None) -> list[str]:
    """What reaches for the grader, the interpreter or other code's names, as it stands there.

    imported: what names stand for that other cells have imported.
    """
    if TELLING.isdisjoint(WORD.findall(source)) and not ATTRIBUTE_SET.search(source):
        return []
    own = imports_in(source)
    found = [name for name in own.values() if _is_machinery(name)]
    names = {**(imported or {}), **own}
    for node in _nodes(source):
        found += _attempts_at(node, names)
    return list(dict.fromkeys(found))


def imports_in(source: str) -> dict[str, str]:
    """What the names that code imports stand for."""
    names: dict[str, str] = {}
    for node in _nodes(source) if "import" in source else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or _root(alias.name)
                names[bound] = alias.name if alias.asname else bound
                names.setdefault(alias.name, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def texts_assigned(source: str, name: str) -> list[str]:
    """The texts that code assigns to a name at its top level, in order."""
    texts = []
    for node in _nodes(source)[:1]:
        for part in node.body:
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant):
                targets = [target.id for target in part.targets if isinstance(target, ast.Name)]
                if name in targets and isinstance(part.value.value, str):
                    texts.append(part.value.value)
    return texts


def _attempts_at(node: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    match node:
        case ast.Attribute(attr=attribute):
            dotted = _dotted(node, names)
            if dotted in REACHING_OUT or attribute in FRAME_ATTRIBUTES | SHELL_HOOKS:
                yield dotted or f".{attribute}"
        case ast.Name(id=name):
            if names.get(name) in REACHING_OUT or name == "__builtins__":
                yield names.get(name, name)
        case ast.Constant(value=str(text)):
            if SECRET_PLACE.search(text):
                yield f'"{text[:60]}"'
            elif text in FRAME_ATTRIBUTES or f"sys.{text}" in REACHING_OUT - {"sys.modules"}:
                yield f'"{text}"'
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _patches(target, names)
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, *_]):
            if _root(_dotted(owner, names)) in PATCHED:
                yield f"setattr({_dotted(owner, names)}, ...)"
        case ast.ClassDef(name=name, body=body):
            agreeing = [part.name for part in body if _always_agrees(part)]
            if agreeing:
                yield f"{name}.{agreeing[0]} that always says yes"


def _patches(target: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    for node in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
        dotted = _dotted(node, names) if isinstance(node, ast.Attribute) else ""
        if _root(dotted) in PATCHED and not dotted.startswith(SWITCHES):
            yield f"{dotted} = ..."


def _always_agrees(part: ast.stmt) -> bool:
    if not isinstance(part, ast.FunctionDef) or part.name not in AGREEING:
        return False
    match part.body:
        case [ast.Return(value=ast.Constant(value=True))]:
            return True
    return False


def _is_machinery(module: str) -> bool:
    is_grader = any(module == name or module.startswith(f"{name}.") for name in GRADER_MODULES)
    return is_grader or _root(module) in SYSTEM_MODULES or module in REACHING_OUT


def _dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    """`a.b.c` with what `a` was imported as; "" for anything but names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])


def _root(dotted: str) -> str:
    return dotted.partition(".")[0]


@lru_cache(maxsize=2)
def _nodes(source: str) -> list[ast.AST]:
    """The module and all nodes below it; none if the code does not parse."""
    tree = parsed(source)
    return list(ast.walk(tree)) if tree else []
