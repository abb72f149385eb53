"""Pages for analysts over the readers' snapshot: `rsi dashboards` serves them."""
