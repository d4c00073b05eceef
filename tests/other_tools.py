"""Packages of others: `make test-tools` needs them, other runs skip what is missing."""

import importlib
import os
import warnings

import pytest


def needed(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if os.environ.get("NGMCA_NEEDS_TOOLS"):
            return importlib.import_module(name)
        return pytest.importorskip(name, exc_type=ImportError)
