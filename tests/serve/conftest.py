"""Fixtures of the gateway's tests."""

from tests.serve.served import site

__all__ = ["site"]
