"""The commands, by what they are about; `app` puts them together."""
