"""The engine of a world with the adapters that some versions need, each admitted before it is loaded."""

from collections.abc import Iterable

from rsi.context import Context, World
from rsi.ports import Engine
from rsi.records import Version
from rsi.registry import adapters
from rsi.settings import Home


def engine_with(context: Context, versions: Iterable[Version]) -> Engine:
    """The engine of a night, able to answer as any of these versions.

    Raises:
        RefusedError: an adapter is not admitted.
    """
    return able(context.home, context.world, versions)


def able(home: Home, world: World, versions: Iterable[Version]) -> Engine:
    """The world's engine, able to answer as any of these versions.

    Raises:
        RefusedError: an adapter is not admitted.
    """
    engine = world.engine()
    names = sorted({name for version in versions for name in version.adapters.values()})
    if names:
        base = world.base()
        shapes = adapters.shapes(base.folder)
        for name in names:
            adapters.admit(home, name, base.digest, shapes)
            engine.load(name, adapters.folder(home, name))
    return engine
