# SPDX-License-Identifier: Apache-2.0
"""The sources of the site, without Sphinx: no dead links, every page in the menu, every public name described.

`make docs` builds the whole site and takes warnings for errors.
"""

import inspect
import re
import sys
from pathlib import Path

import pytest
from tessera._doctor_names import known_variables

import tessera as ts

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))

import gallery  # noqa: E402
import reference  # noqa: E402
import stage as staging  # noqa: E402
from assemble import assemble  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """(stage, folder) of the site without its gallery; a link that leads nowhere fails here."""
    target = tmp_path_factory.mktemp("site")
    return assemble(target, light=True), target


def test_every_page_is_in_the_menu(site):
    stage, _ = site
    missing = set(stage.pages.values()) - staging.reachable(stage)
    assert not missing, f"no index page links to {sorted(missing)}"


def anchors(text):
    """What headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_links_and_anchors_of_the_staged_pages(site):
    stage, target = site
    seen = 0
    for address in stage.pages.values():
        page = target / address
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
            if "://" in link:
                continue
            goal = page if not link else (page.parent / link).resolve()
            assert goal.exists() or goal.suffix == "", f"{address} links to {link}"
            if anchor:
                assert anchor in anchors(goal.read_text()), f"{address} links to {link}#{anchor}"
            seen += 1
    assert seen > 150


def test_a_dead_link_is_noticed(tmp_path, monkeypatch):
    page = tmp_path / "docs/index.md"
    page.parent.mkdir()
    page.write_text("# One\n\n[nowhere](not/there.md)\n")
    monkeypatch.setattr(staging, "ROOT", tmp_path)
    with pytest.raises(FileNotFoundError, match="docs/index.md links to not/there.md"):
        staging.Stage(tmp_path / "out").write()


def public_names(module, prefix=""):
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value) and value is not ts.config:
            yield from public_names(value, f"{prefix}{name}.")
        elif not name.startswith("__"):
            yield prefix + name
            if isinstance(value, type):
                own = (n for n, v in vars(value).items() if not n.startswith("_") and hasattr(v, "__get__"))
                yield from (f"{prefix}{name}.{n}" for n in own)


def test_every_public_name_is_in_the_reference(site):
    _, target = site
    described = set().union(*(reference.names_on(p.read_text()) for p in (target / "reference").glob("*.rst")))
    # A second name of a class says where the first one is described, with what the class has.
    twice = {n for n in described if f"{n}\n\n   The same as" in "".join(p.read_text() for p in pages(target))}
    wanted = {*public_names(ts), *public_names(ts.imaging, "imaging.")}
    missing = {n for n in wanted - described if n.rpartition(".")[0] not in twice}
    assert not missing, sorted(missing)[:20]
    assert len(wanted) > 1200


def pages(target):
    return sorted((target / "reference").glob("*.rst"))


def test_every_name_has_one_place(site):
    _, target = site
    found = [n for p in pages(target) for n in re.findall(r"^\.\. py:\w+:: tessera\.([\w.]+)", p.read_text(), re.M)]
    assert len(found) == len(set(found))


def test_every_operator_has_its_formula(site):
    told = reference.formulas()
    kinds = {n for n in ts.__all__ if isinstance(getattr(ts, n), type) and issubclass(getattr(ts, n), ts.NamedLinop)}
    assert kinds - {"NamedLinop", "Fitted"} <= set(told)
    assert all(callable(getattr(ts, n)) for n in told)
    text = (site[1] / "reference/operators.rst").read_text()
    assert text.count(".. math::") >= len(kinds) - 4


def test_settings_and_variables_on_one_page(site):
    text = (site[1] / "reference/settings.rst").read_text()
    assert all(f"``{name}``" in text for name in known_variables())


def test_public_headers(site):
    text = (site[1] / "reference/headers.rst").read_text()
    names = [h.name for h in reference.public_headers()]
    assert {"tessera.hpp", "distributed.hpp", "fft.hpp", "nufft.hpp", "operator.hpp"} <= set(names)
    assert text.count(".. rubric:: ") == len(names) > 150


def test_errors_are_listed():
    text = (ROOT / "docs/errors.md").read_text()
    kinds = [n for n in ts.__all__ if isinstance(getattr(ts, n), type) and issubclass(getattr(ts, n), ts.Error)]
    assert all(f"| `{name}` |" in text for name in kinds)


@pytest.mark.parametrize("example", sorted(gallery.EXAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_examples_of_the_gallery_are_well_formed(example):
    title, below, parts = gallery.pieces(example.read_text())
    assert title and below and len(parts) > 2
    for _, code in parts:
        compile(code, str(example), "exec")


def test_what_the_site_needs_is_said_twice_alike():
    listed = [line for line in (ROOT / "requirements-docs.txt").read_text().splitlines() if not line.startswith("#")]
    extra = re.search(r"^docs = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert extra and re.findall(r'"([^"]+)"', extra[1]) == listed
