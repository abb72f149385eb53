"""The loop as Prefect flows: parameters in, a call of `rsi`, an artifact out. No logic lives here."""
