"""Kernels of a notebook run in Triton's interpreter, on copies, and inside of their arrays."""

import linecache
import os
import subprocess
import sys

import pytest
import torch

from labkit.bridge import in_triton
from labkit.bridge.in_triton import NotInAKernel, NoTriton, OutsideOfArray, run_kernel, tl
from labkit.bridge.local import local_student

BODY = """
def doubled(x_ptr, y_ptr, n, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + place, mask=place < n, other=0.0)
    tl.store(y_ptr + place, 2 * x, mask=place < n)
"""


def written(text=BODY, name="doubled", **names):
    """The kernel of a cell, and the cell's names."""
    file = f"<{hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {"tl": tl, "__name__": "__main__", **names}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name], namespace


def run(kernel, n=10, size=4, n_programs=3):
    arrays = [torch.arange(float(n)), torch.full((n,), torch.nan)]
    return run_kernel(kernel, n_programs, arrays, [n], {"SIZE": size}), arrays


@pytest.fixture
def found(monkeypatch):
    """Sets the version of Triton that is installed; None is none."""

    def version_is(text):
        def version(name):
            if text is None:
                raise in_triton.PackageNotFoundError(name)
            return text

        monkeypatch.setattr(in_triton, "version", version)
        in_triton.why_not.cache_clear()

    yield version_is
    monkeypatch.undo()
    in_triton.why_not.cache_clear()


def test_a_kernel_works_on_copies_and_its_names_stay_as_they_are():
    kernel, names = written()
    before = set(names)
    after, arrays = run(kernel)
    assert torch.equal(after[1], 2 * torch.arange(10.0))
    assert arrays[1].isnan().all() and set(names) == before
    assert in_triton.INTERPRET not in os.environ


@pytest.mark.parametrize(
    "old", ["tl.load(x_ptr + place, mask=place < n, other=0.0)", ", mask=place < n)"]
)
def test_an_access_outside_of_the_arrays_is_refused(old):
    new = ")" if old.startswith(",") else "tl.load(x_ptr + place)"
    kernel, _ = written(
        BODY.replace(old, new) if old[0] != "," else BODY.replace("2 * x" + old, "2 * x)")
    )
    with pytest.raises(OutsideOfArray, match="outside of its arrays"):
        run(kernel)
    assert run(kernel, n=12)[0][1].isfinite().all()


def test_an_error_in_a_kernel_is_the_students_own_and_says_where():
    student = local_student(written(BODY.replace("2 * x", "2 * z"))[1])
    arrays = [torch.zeros(4), torch.zeros(4)]
    with pytest.raises(Exception, match="NameError") as raised:
        student.ask("kernel", student.doubled, (1, arrays, [4]), {"SIZE": 4})
    assert "line 5, in doubled" in raised.value.stop


USES = {
    "np.multiply(2, x)": "import numpy as np",
    "multiply(2, x)": "from numpy import multiply",
    "helper(x)": "import torch\ndef helper(x): return torch.add(x, x)",
    "2 * (lambda: __import__ and numpy.ones(1) * x)()": "import numpy",
    "tl.tensor(2 * x.handle, x.dtype)": "",
}


@pytest.mark.parametrize("use", [*USES, "local"])
def test_numpy_and_pytorch_are_refused_in_a_kernel(use):
    body = BODY.replace("2 * x", use)
    if use == "local":
        body = BODY.replace("    tl.store", "    import numpy as np\n    tl.store")
    kernel, _ = written(f"{USES.get(use, '')}\n{body}")
    with pytest.raises(NotInAKernel, match="no GPU runs it in a kernel"):
        run(kernel)


def test_a_kernel_may_have_names_that_numpy_and_pytorch_have_and_functions_of_its_own():
    text = "from torch import exp, where\nimport numpy as np\nTWO = 2\n"
    text += "def helper(x): return tl.where(x > -1, TWO * x, tl.exp(x))\n"
    kernel, _ = written(text + BODY.replace("2 * x", "helper(x)"))
    assert torch.equal(run(kernel)[0][1], 2 * torch.arange(10.0))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="a kernel is a function, not a list"):
        run([])


def test_a_kernel_may_use_triton_as_a_notebook_imports_it():
    """torch may have imported it before, to compile; the interpreter runs its functions."""
    text = "import triton\nimport triton.language as tl\n" + BODY.replace("def", "@triton.jit\ndef")
    text = text.replace("2 * x", "x + tl.where(x > -1, x, tl.max(x, axis=0))")
    code = f"""
import torch, triton, linecache
text = {text!r}
linecache.cache["<cell>"] = len(text), None, text.splitlines(keepends=True), "<cell>"
names = {{}}
exec(compile(text, "<cell>", "exec"), names)
from labkit.bridge.in_triton import run_kernel
print(run_kernel(names["doubled"], 1, [torch.ones(4), torch.zeros(4)], [4], {{"SIZE": 4}})[1])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "tensor([2., 2., 2., 2.])\n", ended.stderr


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("3.2.0", ""),
        ("3.10.1", ""),
        ("4.0", ""),
        ("3.1.0", "Triton 3.1.0 is too old: this needs 3.2 or newer"),
        ("2.3", "Triton 2.3 is too old: this needs 3.2 or newer"),
        (None, "Triton is not installed here (this needs 3.2 or newer, on Linux)"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(found, version, reason):
    found(version)
    assert in_triton.why_not() == reason
    if reason:
        in_triton.load.cache_clear()
        with pytest.raises(NoTriton) as raised:
            run(written()[0])
        assert str(raised.value) == reason


def test_to_define_a_kernel_imports_nothing():
    code = "import sys, labkit.flash_attention as f; print('triton' in sys.modules, f.tl.constexpr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "False constexpr\n", ended.stderr
