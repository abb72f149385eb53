"""The filters that the pages share."""

from datetime import date

import marimo as mo

from dashboards.pieces import choices
from dashboards.questions import Choice, Options


def filters(offered: Options) -> mo.ui.dictionary:
    """Version, agent, called tool and origin, each with how many traces have it; traffic alone where there is any."""
    origins = choices(offered.origins)
    usual = [name for name, value in origins.items() if value in offered.usual]
    return mo.ui.dictionary(
        {
            "versions": mo.ui.multiselect(choices(offered.versions), label="Version"),
            "agents": mo.ui.multiselect(choices(offered.agents), label="Agent"),
            "tools": mo.ui.multiselect(choices(offered.tools), label="Called tool"),
            "origins": mo.ui.multiselect(origins, usual, label="Origin"),
        }
    )


def days(offered: Options) -> mo.ui.date_range | None:
    """The days that have traces; nothing to choose where no trace has a time."""
    if offered.first is None or offered.last is None:
        return None
    period = offered.first.date(), offered.last.date()
    return mo.ui.date_range(*period, value=period, label="Days, UTC")


def chosen(picked: mo.ui.dictionary, period: mo.ui.date_range | None = None) -> Choice:
    """What was picked; all days leave traces without a time in."""
    lists: dict[str, list[str]] = picked.value
    since: date | None = None
    until: date | None = None
    if period is not None and period.value != (period.start, period.stop):
        since, until = period.value
    return Choice(
        versions=tuple(lists["versions"]),
        agents=tuple(lists["agents"]),
        tools=tuple(lists["tools"]),
        origins=tuple(lists["origins"]),
        since=since,
        until=until,
    )
