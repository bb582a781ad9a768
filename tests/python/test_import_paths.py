# SPDX-License-Identifier: Apache-2.0
"""Every public module of the package by every way in which Python finds modules."""

import copy
import importlib
import importlib.util
import pickle
import pkgutil
import subprocess
import sys

import pytest

import tessera as ts

NEIGHBOURS = ("jax", "scipy", "torch")  # which need their libraries
MODULES = [
    name for _, name, _ in pkgutil.iter_modules(ts.__path__) if not name.startswith("_") and name not in NEIGHBOURS
]
MODULES += [f"dist.{name}" for _, name, _ in pkgutil.iter_modules(ts.dist.__path__) if not name.startswith("_")]


def test_what_is_documented_as_an_import_path_is_one():
    assert {"config", "names", "split", "dist", "linalg", "random", "solve", "stored", "dist.linalg"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_found(name):
    module = importlib.import_module(f"tessera.{name}")  # before it is looked for: some are imported on demand
    spec = importlib.util.find_spec(f"tessera.{name}")
    assert spec is not None and spec.name == f"tessera.{name}" and spec.origin.endswith(".py")
    assert module.__spec__ is spec and module.__name__ == f"tessera.{name}" and module.__doc__
    assert pkgutil.resolve_name(f"tessera.{name}:__name__") == f"tessera.{name}" or name == "split"  # also a function
    assert all(hasattr(module, public) for public in getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", ["config", "names", "split", "dist"])
def test_a_fresh_process_finds_and_describes_it(name):
    code = f"import importlib.util, pydoc, tessera.{name}; print(importlib.util.find_spec('tessera.{name}').name)\n"
    code += f"print(pydoc.render_doc('tessera.{name}')[:2000])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.startswith(f"tessera.{name}\n") and "Python Library Documentation" in out


def test_config_is_its_module():
    import tessera.config as config

    assert config is ts.config is sys.modules["tessera.config"]
    assert pickle.loads(pickle.dumps(config)) is copy.deepcopy(config) is copy.copy(config) is config
    assert "progress" in dir(config) and "sys" not in dir(config) and "progress" in repr(config)
    for wrong in ("no_such_setting", "sys", "Config"):
        with pytest.raises(AttributeError, match="no setting"):
            setattr(config, wrong, 1)
    with config.using(progress=False):
        assert ts.config.progress is False
    assert ts.config.progress is True


MISSING = """
import importlib.abc, inspect, pydoc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {libraries}:
            if {raises}:
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
            return None

sys.meta_path.insert(0, Missing())
if not {raises}:
    for name in {libraries}:
        sys.modules[name] = None  # as a program says that there is none
import tessera as ts
for name in {libraries}:
    assert name not in dir(ts) and not hasattr(ts, name) and getattr(ts, name, 3) == 3, name
    try:
        getattr(ts, name)
    except AttributeError as error:
        assert f"ts.{{name}} needs the package {{name}}" in str(error) and isinstance(error.__cause__, ImportError)
    try:
        exec(f"from tessera import {{name}}")
    except ImportError as error:
        assert f"ts.{{name}} needs the package {{name}}" in str(error)
    else:
        raise AssertionError(name)
inspect.getmembers(ts)
text = pydoc.render_doc(ts)
assert "named linear operators" in text and "needs the package" not in text[:2000]
print("fine")
"""


@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("libraries", [("torch",), NEIGHBOURS])
def test_neighbours_that_are_missing_leave_the_package_describable(libraries, raises):
    code = MISSING.format(libraries=libraries, raises=raises)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_neighbours_that_are_there_are_listed():
    for name in NEIGHBOURS:
        assert (name in dir(ts)) == (importlib.util.find_spec(name) is not None) == hasattr(ts, name)
