"""What a piece of submitted code defines and uses, without running it."""

import ast
import re

from labkit.checks.names import MAGIC, bound_names, text_of

CHECK_CALL = re.compile(r"check\([\"'](\w+)[\"'][^()\n]*\);?")
MAX_CALL_CHARS = 200
IN_TEXT = re.compile(r"`(\w+)`")
RESET = re.compile(r"^[ \t]*%reset\b", re.MULTILINE)


def parsed(source: str) -> ast.Module | None:
    """The tree of a cell, with IPython's magics as `pass`; None if it does not parse."""
    try:
        return ast.parse(MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def assigned_names(source: str) -> set[str]:
    """The names that code binds outside loops, conditions and `with`: for these experiments run.

    What an experiment leaves in a loop is not among them. Most such loops measure for minutes.
    """
    tree = parsed(source)
    if tree is None:
        return set(bound_names(source))
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {name.id for target in targets for name in _names_in(target)}
    return names


def changed_names(source: str) -> set[str]:
    """The names that code binds, but for imports, and the attributes of modules that it changes.

    An attribute has its whole name, such as `torch.Tensor.__eq__`; "%reset" stands for that magic.
    """
    tree = parsed(source)
    reset = {"%reset"} if RESET.search(source) else set()
    if tree is None:
        return reset
    nodes = [node for node in ast.walk(tree) if hasattr(node, "ctx")]
    changed = {
        text_of(node)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)
    }
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return reset | changed | (bound_names(source) - imported)


def is_named_otherwise(name: str, source: str) -> bool:
    """Whether code does more with a name than to call it, or has it as text for all but a check."""
    tree = parsed(source) if name in source else None
    if tree is None:
        return name in source
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    fine = {id(call.func) for call in calls}
    for call in calls:
        if text_of(call.func).partition(".")[0] == "check":
            fine |= {id(each) for each in call.args}
    return any(
        name in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "value", ""))
        for node in ast.walk(tree)
        if id(node) not in fine
    )


def is_check_call(source: str) -> bool:
    """Whether a cell only calls a notebook's `check("exercise", points=n)`."""
    return bool(checked_exercise(source))


def checked_exercise(source: str) -> str:
    """The exercise that a cell checks if it does nothing else, "" for any other cell."""
    call = source.strip()
    match = CHECK_CALL.fullmatch(call) if len(call) < MAX_CALL_CHARS else None
    return match[1] if match else ""


def is_install_cell(source: str) -> bool:
    """Whether a cell only defines and calls `install_labkit`, of whichever release."""
    tree = parsed(source) if "install_labkit" in source else None
    match tree.body if tree else ():
        case [ast.FunctionDef(name=name), ast.Expr(ast.Call(func=ast.Name(called)))]:
            return name == called == "install_labkit"
    return False


def statements(source: str) -> list[str]:
    """The text of each top-level statement; all of it as one if it does not parse."""
    tree = parsed(source)
    if tree is None:
        return [source]
    lines = source.split("\n")
    parts, end = [], 0
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        start = min(part.lineno for part in (node, *decorators)) - 1
        if start < end:  # on a line with the one before
            parts[-1] = "\n".join([parts[-1], *lines[end : node.end_lineno]])
        else:
            parts.append("\n".join(lines[start : node.end_lineno]))
        end = node.end_lineno
    return parts


def names_in_text(text: str) -> list[str]:
    """The names that a text has between backticks, each once."""
    return list(dict.fromkeys(IN_TEXT.findall(text)))


def squeeze(source: str) -> str:
    """Source without white space, to compare cells that were only reformatted."""
    return "".join(source.split())


def _names_in(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
