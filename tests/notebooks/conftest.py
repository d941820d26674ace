"""Kernels for the notebooks."""

import pytest
from jupyter_client.provisioning import local_provisioner
from warm_kernels import Template


@pytest.fixture(scope="session")
def template():
    """What kernels are forked from."""
    with Template() as template:
        yield template


@pytest.fixture(scope="module")
def warm_kernels(template):
    """The kernels of a module's notebooks are forks: to start one takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_provisioner, "launch_kernel", template.launch)
        yield
