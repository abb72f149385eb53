"""Cells and tables that the pages on nights and versions share: values of a frame as text, never as markup."""

from collections.abc import Mapping
from datetime import datetime
from typing import SupportsFloat, TypeAlias

import pandas as pd

from dashboards.pieces import Column, badge, code, section, table, version, when
from rsi.report.telling import clause_title
from rsi.report.words import inert_html, plural

Row: TypeAlias = Mapping[str, object]
TONES = {"pass": "pass", "fail": "fail", "cannot tell": "doubt"}


def facts_line(facts: Mapping[str, str]) -> str:
    """Facts side by side: name -> value in HTML."""
    each = "".join(f"<span>{name} <b>{value}</b></span>" for name, value in facts.items())
    return f'<div class="facts">{each}</div>'


def clauses_table(clauses: pd.DataFrame) -> str:
    """What the gate said, the worst first."""
    if clauses.empty:
        return ""
    order = {"fail": 0, "cannot tell": 1, "pass": 2}
    rows = sorted(clauses.itertuples(), key=lambda one: order.get(one.clause_judgement, 0))
    body = table(
        [Column("clause"), Column("judgement"), Column("measured, and needed")],
        [
            [inert_html(clause_title(one.clause)), badge(one.clause_judgement, TONES.get(one.clause_judgement, "")),
             inert_html(one.clause_text)]
            for one in rows
        ],
        "",
    )  # fmt: skip
    return f"{section('What the gate said')}{body}"


def text(value: object) -> str:
    """A text of a frame; "" where there is none."""
    return value if isinstance(value, str) else ""


def short(value: object) -> str:
    """The first digits of a digest, as code."""
    return code(version(text(value)))


def number(value: object) -> str:
    """A whole number; a dash where there is none."""
    return f"{int(real(value)):,}" if value is not None and pd.notna(value) else "–"


def count(value: object, what: str) -> str:
    """So many of something."""
    return plural(int(real(value)), what)


def real(value: object) -> float:
    """A number of a frame; 0 where there is none."""
    return float(value) if isinstance(value, SupportsFloat) else 0.0


def moment(value: object) -> str:
    """A time of a frame."""
    return when(value if isinstance(value, datetime) else None)
