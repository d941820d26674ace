"""Signs in code: what reaches for the grader is seen, and ordinary code is left alone."""

import pytest

from autograder.builder.source import read_labs
from autograder.pages.evidence.signs import attempts_in, servers_in
from tests.known import mutants_of, variants_of


@pytest.mark.parametrize(
    "source",
    [
        "import vllm",
        "from sglang.srt import server",
        "from vllm import LLM as Model",
        "!pip install -q vllm",
        "%pip install sglang==0.4",
    ],
)
def test_an_inference_server_is_seen(source):
    assert servers_in(source) in (["vllm"], ["sglang"])


@pytest.mark.parametrize(
    "source",
    [
        "import gc\nthings = gc.get_objects()",
        "from gc import get_referrers as who\nwho(1)",
        "import sys as s\ns._getframe().f_back",
        'import sys\ngetattr(sys, "_getframe")()',
        "import inspect\ninspect.stack()",
        "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals",
        "import sys\nsys.modules['torch'] = None",
        'open("/proc/self/maps").read()',
        "import ctypes",
        "import builtins\nbuiltins.isinstance = None",
        "__builtins__['len'] = None",
        "import numpy as np\nnp.allclose = lambda *a: True",
        "import torch\nsetattr(torch.Tensor, '__eq__', None)",
        "import torch.nn.functional as F\nF.softmax = None",
        "class Yes:\n    def __eq__(self, other):\n        return True",
        "get_ipython().ast_transformers.clear()",
        "from labkit.checks import compare",
        "import autograder.labs.memory.cases",
        "import os\nos._exit(0)",
    ],
)
def test_code_that_reaches_for_the_grader_is_seen(source):
    assert attempts_in(source)


@pytest.mark.parametrize(
    "source",
    [
        "import gc, torch\ngc.collect()\ntorch.cuda.empty_cache()",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\ntorch.manual_seed(0)",
        "import sys\nprint(sys.version, file=sys.stderr)",
        "import os\nos.environ['OMP_NUM_THREADS'] = '1'",
        "import matplotlib.pyplot as plt\nplt.rcParams['figure.dpi'] = 100",
        "import time\nstart = time.perf_counter()",
        "class Point:\n    def __eq__(self, other):\n        return self.x == other.x",
        "self.events = []\nself.frame = 1",
        "!nvidia-smi\n%matplotlib inline\nx = 1",
        "this does not parse",
    ],
)
def test_ordinary_code_is_left_alone(source):
    assert attempts_in(source) == []
    assert servers_in(source) == []


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_no_known_answer_right_or_wrong_is_taken_for_an_attempt(lab):
    texts = [each.source for each in variants_of(lab) + mutants_of(lab)]
    assert [text for text in texts if attempts_in(text) or servers_in(text)] == []
