"""Pure functions for discover, update and gate alike: intervals, paired tests, non-inferiority, power.

Words used throughout: `n` items answered by both versions, `b` of them right with the candidate alone, `c`
with the champion alone. The difference is (b - c) / n, candidate minus champion.
"""
