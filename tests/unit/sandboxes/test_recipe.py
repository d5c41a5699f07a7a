"""What identifies an image: recipe digests and the parsing of Dockerfiles."""

import os

import pytest

from sandboxes.recipe import base_images, declared_args, pack_context, read_context, recipe_digest


@pytest.mark.parametrize(
    ("dockerfile", "args", "bases"),
    [
        ("FROM debian:12", {}, ["debian:12"]),
        ("ARG BASE=python:3.11\nFROM ${BASE}", {}, ["python:3.11"]),
        ("ARG BASE=python:3.11\nFROM ${BASE}", {"BASE": "mine"}, ["mine"]),
        ("ARG BASE\nFROM $BASE", {"BASE": "mine"}, ["mine"]),
        ("ARG TAG=1\nARG BASE=a:${TAG}\nFROM ${BASE}", {"TAG": "2"}, ["a:2"]),
        ("FROM a AS build\nFROM b\nCOPY --from=build /x /x\nFROM build", {}, ["a", "b"]),
        ("FROM --platform=linux/amd64 a as x\nfrom x", {}, ["a"]),
        ("FROM scratch\nCOPY f /f", {}, []),
        ("# FROM comment\nFROM \\\n  a", {}, ["a"]),
        ("FROM ${NONE:-fallback}", {}, ["fallback"]),
        ("FROM a\nARG BASE=b\nFROM a", {}, ["a"]),
        ('ARG BASE="quoted:1"\nFROM ${BASE}', {}, ["quoted:1"]),
    ],
)
def test_bases_of_a_dockerfile(dockerfile, args, bases):
    assert base_images(dockerfile, args) == bases


def test_declared_arguments():
    assert declared_args("ARG A\nARG B=1\nFROM x\nARG C='2'\n") == {"A": None, "B": "1", "C": "2"}


@pytest.fixture
def context(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM a\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "data").write_bytes(b"1")
    os.symlink("sub/data", tmp_path / "link")
    return tmp_path


def digest(folder, **changes):
    options = {"args": {}, "bases": {"a": "sha256:1"}, "layers": (), "platform": None, **changes}
    return recipe_digest(read_context(folder), **options)


def test_times_owners_and_umasks_do_not_count(context):
    first, packed = digest(context), pack_context(read_context(context))
    os.utime(context / "sub" / "data", (1, 1))
    (context / "sub" / "data").chmod(0o600)
    (context / "sub").chmod(0o700)
    assert digest(context) == first
    assert pack_context(read_context(context)) == packed


@pytest.mark.parametrize(
    "changes",
    [
        {"args": {"A": "1"}},
        {"bases": {"a": "sha256:2"}},
        {"layers": ("RUN true",)},
        {"platform": "linux/arm64"},
    ],
)
def test_everything_else_of_a_recipe_counts(context, changes):
    assert digest(context, **changes) != digest(context)


def test_a_base_under_another_name_is_the_same_base(context):
    assert digest(context, bases={"b": "sha256:1"}) == digest(context)


@pytest.mark.parametrize("change", ["data", "name", "mode", "link", "folder", "file to link"])
def test_every_change_of_the_context_counts(context, change):
    first, data = digest(context), context / "sub" / "data"
    if change == "data":
        data.write_bytes(b"2")
    elif change == "name":
        data.rename(context / "sub" / "other")
    elif change == "mode":
        data.chmod(0o755)
    elif change == "folder":
        (context / "empty").mkdir()
    elif change == "link":
        (context / "link").unlink()
        os.symlink("elsewhere", context / "link")
    else:
        data.unlink()
        os.symlink("1", data)
    assert digest(context) != first


def test_links_are_not_followed(context):
    os.symlink("/etc/passwd", context / "outside")
    entry = next(file for file in read_context(context) if file.path == "outside")
    assert (entry.link, entry.data) == ("/etc/passwd", None)
