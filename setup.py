"""The packages, found by walking; the data folder is a part of labkit. The rest: pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["labkit*", "autograder*"]), "labkit.data"],
    package_dir={"labkit.data": "data"},
)
