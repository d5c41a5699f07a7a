"""Examples in docstrings run, every function the package offers has one, and the package offers what there is."""

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import orchestrator.stats

MODULES = sorted(module.name for module in pkgutil.iter_modules(orchestrator.stats.__path__))
# Shared by the modules among themselves.
BETWEEN_MODULES = {
    "sample": {"whole", "counts", "numbers", "groups", "checked_level"},
    "weights": {"unit_weights", "draw_weights"},
    "grid": {"about_grid"},
    "signflip": {"sign_blocks", "all_sums"},
    "judges": {"about_verdicts", "label_table", "verdicts"},
}


def _own(name: str) -> Iterator[tuple[str, object]]:
    module = importlib.import_module(f"orchestrator.stats.{name}")
    for key, value in vars(module).items():
        if not key.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            yield key, value


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(f"orchestrator.stats.{name}")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_modules_stay_short_and_say_what_they_are_for(name: str) -> None:
    module = importlib.import_module(f"orchestrator.stats.{name}")
    assert module.__doc__
    assert len(inspect.getsource(module).splitlines()) <= 300


@pytest.mark.parametrize("name", MODULES)
def test_public_functions_have_an_example_and_classes_say_what_they_hold(name: str) -> None:
    for key, value in _own(name):
        if inspect.isfunction(value) and key not in BETWEEN_MODULES.get(name, ()):
            assert ">>>" in (value.__doc__ or ""), f"{name}.{key} has no example."
        elif inspect.isclass(value):
            assert value.__doc__, f"{name}.{key} does not say what it holds."
            assert not value.__doc__.startswith(f"{key}("), f"{name}.{key} does not say what it holds."


def test_the_package_offers_every_public_name() -> None:
    there = {
        key
        for name in MODULES
        for key, _ in _own(name)
        if key not in MODULES and key not in BETWEEN_MODULES.get(name, ())
    }
    assert set(dir(orchestrator.stats)) == there
    for key in there:
        assert getattr(orchestrator.stats, key).__name__ == key
    with pytest.raises(AttributeError, match="no 'mean_of_means'"):
        _ = orchestrator.stats.mean_of_means
