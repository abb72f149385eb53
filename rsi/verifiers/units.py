"""Units of measure: what a symbol stands for in SI base units.

Factors are exact by definition: the SI brochure (9th edition, 2019), the international yard and pound (1959), the
thermochemical calorie (4.184 J), the US gallon. A unit is a symbol of the table, alone or after an SI prefix where
it takes one; compounds are products and one quotient of powers: ``km/h``, ``m/s^2``, ``kg*m^2``, ``m²``.
"""

import math
import re
from typing import NamedTuple


class Unit(NamedTuple):
    """value in SI = number * factor + offset."""

    factor: float
    dimension: tuple[tuple[str, int], ...]
    """(base unit, exponent), sorted, without zeros."""
    offset: float = 0.0


_LENGTH, _MASS, _TIME = "m:1", "kg:1", "s:1"
_FORCE, _ENERGY, _POWER = "kg:1 m:1 s:-2", "kg:1 m:2 s:-2", "kg:1 m:2 s:-3"
_PRESSURE, _VOLUME = "kg:1 m:-1 s:-2", "m:3"
_PREFIXED: dict[str, tuple[float, str]] = {
    "m": (1.0, _LENGTH),
    "g": (1e-3, _MASS),
    "s": (1.0, _TIME),
    "A": (1.0, "A:1"),
    "K": (1.0, "K:1"),
    "mol": (1.0, "mol:1"),
    "Hz": (1.0, "s:-1"),
    "N": (1.0, _FORCE),
    "Pa": (1.0, _PRESSURE),
    "bar": (1e5, _PRESSURE),
    "J": (1.0, _ENERGY),
    "Wh": (3600.0, _ENERGY),
    "eV": (1.602176634e-19, _ENERGY),
    "cal": (4.184, _ENERGY),
    "W": (1.0, _POWER),
    "C": (1.0, "A:1 s:1"),
    "V": (1.0, "A:-1 kg:1 m:2 s:-3"),
    "Ω": (1.0, "A:-2 kg:1 m:2 s:-3"),
    "ohm": (1.0, "A:-2 kg:1 m:2 s:-3"),
    "F": (1.0, "A:2 kg:-1 m:-2 s:4"),
    "T": (1.0, "A:-1 kg:1 s:-2"),
    "L": (1e-3, _VOLUME),
    "l": (1e-3, _VOLUME),
    "t": (1e3, _MASS),
    "bit": (1.0, "bit:1"),
    "B": (8.0, "bit:1"),
}
_PLAIN: dict[str, tuple[float, str]] = {
    "%": (0.01, ""),
    "‰": (0.001, ""),
    "rad": (1.0, ""),
    "°": (math.pi / 180, ""),
    "deg": (math.pi / 180, ""),
    "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "d": (86400.0, _TIME),
    "week": (604800.0, _TIME),
    "in": (0.0254, _LENGTH),
    "ft": (0.3048, _LENGTH),
    "yd": (0.9144, _LENGTH),
    "mi": (1609.344, _LENGTH),
    "nmi": (1852.0, _LENGTH),
    "ha": (1e4, "m:2"),
    "acre": (4046.8564224, "m:2"),
    "gal": (3.785411784e-3, _VOLUME),
    "oz": (0.028349523125, _MASS),
    "lb": (0.45359237, _MASS),
    "mph": (0.44704, "m:1 s:-1"),
    "kn": (1852.0 / 3600.0, "m:1 s:-1"),
    "atm": (101325.0, _PRESSURE),
    "$": (1.0, "USD:1"),
    "USD": (1.0, "USD:1"),
    "€": (1.0, "EUR:1"),
    "EUR": (1.0, "EUR:1"),
    "£": (1.0, "GBP:1"),
    "GBP": (1.0, "GBP:1"),
}
_OFFSET = {
    "°C": Unit(1.0, (("K", 1),), 273.15),
    "°F": Unit(5 / 9, (("K", 1),), 459.67 * 5 / 9),
}
_WORDS = {
    "percent": "%", "per cent": "%", "metre": "m", "meter": "m", "gram": "g", "second": "s", "sec": "s",
    "minute": "min", "cubic metre": "m^3", "cubic meter": "m^3",
    "hour": "h", "hr": "h", "day": "d", "inch": "in", "inche": "in", "foot": "ft", "feet": "ft", "yard": "yd",
    "mile": "mi", "litre": "L", "liter": "L", "gallon": "gal", "ounce": "oz", "pound": "lb", "lbs": "lb", "tonne": "t",
    "newton": "N", "joule": "J", "watt": "W", "volt": "V", "ampere": "A", "amp": "A", "pascal": "Pa", "hertz": "Hz",
    "kelvin": "K", "mole": "mol", "byte": "B", "dollar": "$", "euro": "€", "degree": "°", "hectare": "ha", "knot": "kn",
    "kilometre": "km", "kilometer": "km", "centimetre": "cm", "centimeter": "cm", "millimetre": "mm",
    "millimeter": "mm", "kilogram": "kg", "milligram": "mg", "millilitre": "mL", "milliliter": "mL", "kilowatt": "kW",
    "megawatt": "MW", "millisecond": "ms", "degrees celsius": "°C", "celsius": "°C", "fahrenheit": "°F",
    "degrees fahrenheit": "°F", "sq m": "m^2", "square metre": "m^2", "square meter": "m^2",
}  # fmt: skip
_PREFIX = {
    "": 1.0, "q": 1e-30, "f": 1e-15, "p": 1e-12, "n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2,
    "d": 1e-1, "da": 10.0, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
}  # fmt: skip
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_RAISED = str.maketrans({"²": "^2", "³": "^3", "·": "*", "⋅": "*", "×": "*"})
_FACTOR = re.compile(r"([^\d\s*/^]+)(?:\^?(-?\d))?")


def unit(text: str) -> Unit | None:
    """What a unit stands for; None where it is unknown. The empty text is a bare number."""
    name = " ".join(text.split())
    if not name:
        return Unit(1.0, ())
    name = _WORDS.get(name.lower()) or _WORDS.get(name.lower().removesuffix("s")) or name
    if name in _OFFSET:
        return _OFFSET[name]
    above, *below = name.translate(_RAISED).replace(" per ", "/").split("/")
    factor, powers = 1.0, dict[str, int]()
    for part, sign in [(above, 1), *((one, -1) for one in below[:1])]:
        found = _product(part.strip())
        if found is None or len(below) > 1:
            return None
        factor *= found.factor**sign
        for base, power in found.dimension:
            powers[base] = powers.get(base, 0) + sign * power
    return Unit(factor, tuple(sorted((base, power) for base, power in powers.items() if power)))


def _product(text: str) -> Unit | None:
    factor, powers = 1.0, dict[str, int]()
    for part in re.split(r"[* ]+", text.strip("() ")):
        match = _FACTOR.fullmatch(part)
        found = _symbol(_WORDS.get(match[1].lower(), match[1])) if match else None
        if match is None or found is None:
            return None
        power = int(match[2] or 1)
        factor *= found.factor**power
        for base, times in found.dimension:
            powers[base] = powers.get(base, 0) + power * times
    return Unit(factor, tuple(powers.items()))


def _symbol(symbol: str) -> Unit | None:
    if symbol in _PLAIN:
        return _unit(*_PLAIN[symbol])
    for prefixes in (_PREFIX, _BINARY):
        for prefix, scale in prefixes.items():
            base = symbol.removeprefix(prefix)
            if (
                symbol.startswith(prefix)
                and base in _PREFIXED
                and (prefixes is _PREFIX or base in ("B", "bit"))
            ):
                factor, dimension = _PREFIXED[base]
                return _unit(scale * factor, dimension)
    return None


def _unit(factor: float, dimension: str) -> Unit:
    pairs = (one.split(":") for one in dimension.split())
    return Unit(factor, tuple((base, int(power)) for base, power in pairs))
