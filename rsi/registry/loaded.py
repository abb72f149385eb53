"""The engine of a night with the adapters that some versions need, each admitted before it is loaded."""

from collections.abc import Iterable

from rsi.context import Context
from rsi.ports import Engine
from rsi.records import Version
from rsi.registry import adapters


def engine_with(context: Context, versions: Iterable[Version]) -> Engine:
    """The engine, able to answer as any of these versions.

    Raises:
        RefusedError: an adapter is not admitted.
    """
    engine = context.world.engine()
    names = sorted({name for version in versions for name in version.adapters.values()})
    if names:
        base = context.world.base()
        shapes = adapters.shapes(base.folder)
        for name in names:
            adapters.admit(context.home, name, base.digest, shapes)
            engine.load(name, adapters.folder(context.home, name))
    return engine
