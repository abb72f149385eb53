"""One reader a format. `FORMATS` is the table: a new one is a module, a line here, a file in ``data/traces``.

The first whose `matches` says yes reads the record, so that narrow formats stand before wide ones.
"""

from rsi.traces.formats import chat, gateway, otlp, tau
from rsi.traces.rows import Format

FORMATS: tuple[Format, ...] = (gateway, otlp, tau, chat)
