"""How the time of redaction grows with the length of a text, whatever the text: part of ``make bench``.

Each unit is repeated to two lengths, one four times the other. About 4 is linear; 16 would be quadratic: something is
gone through again and again.
"""

import argparse
import json
import time

from rsi.traces.redact import Redactor

LENGTH, TIMES = 200_000, 4
"""Of the shorter text, and how often it goes into the longer one."""
ROUNDS = 3
UNITS = (
    "a", "1", "4 ", "4111 ", "@", "a@", "a@a", "a@a.", "a.a@a.co ", "sk-", "eyJ", "eyJa.",
    "eyJaaaaaaaa.", "\\", "\\u0040", "=", "-----BEGIN PRIVATE KEY-----", "-", "password", "password:", "password='",
    'password:\\"', "://", "://a:", "://a:a", "+1", "(", "(415)", "0 ", "01 ", "phone", "phone ", "phone 1",
    "Bearer ", "Bearer a", "bearer", "<email:0123456789>", "é", "😀", "İ", "\n", "?key=", "tel:1", '{"',
    "hooks.slack.com/services/", "%2B", "%", "x_", "secret\\",
)  # fmt: skip


def main() -> None:
    """Measure and print the five units that grow fastest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=LENGTH, help="characters of the shorter text")
    said = parser.parse_args()
    redactor = Redactor(b"benchmark")
    grown = {unit: growth(redactor, unit, said.length) for unit in UNITS}
    worst = sorted(grown, key=lambda unit: -grown[unit])[:5]
    print(
        json.dumps({"units": len(UNITS), "worst": {unit: round(grown[unit], 2) for unit in worst}}, indent=2)
    )


def growth(redactor: Redactor, unit: str, length: int) -> float:
    """Seconds for the longer text over seconds for the shorter."""
    lengths = (length, TIMES * length)
    short, long = (min(seconds(redactor, unit * (n // len(unit))) for _ in range(ROUNDS)) for n in lengths)
    return long / short


def seconds(redactor: Redactor, text: str) -> float:
    """Processor seconds of one redaction."""
    began = time.process_time()
    redactor.text(text)
    return time.process_time() - began


if __name__ == "__main__":
    main()
