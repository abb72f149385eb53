"""Chains of look-ups: codes that lead to codes and have values, by a salted hash that nobody can know by heart."""
