"""What ``/metrics`` shows, in a registry of its own, so that two gateways in one process do not add up."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class Metrics:
    """Counters and histograms of one gateway."""

    def __init__(self) -> None:
        self.registry = where = CollectorRegistry()
        self.requests = Counter("rsi_requests", "Requests answered", ("route", "version"), registry=where)
        self.errors = Counter("rsi_errors", "Requests refused or failed", ("status",), registry=where)
        self.seconds = Histogram("rsi_seconds", "Time taken", ("hop",), registry=where, buckets=_SECONDS)
        self.running = Gauge("rsi_requests_running", "Requests being answered", registry=where)
        self.feedback = Counter("rsi_feedback", "Pieces of feedback taken", registry=where)
        self.lost = Gauge("rsi_traces_lost", "Traces that could not be written", registry=where)

    def text(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self.registry)
