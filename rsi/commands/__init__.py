"""The commands, by what they are about; `rsi.cli` puts them together."""
