"""The gate: a candidate against the champion under a contract that the loop cannot read or change."""
