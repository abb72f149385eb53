"""The first wrong step of twenty failed airline runs, as a reader of the conversations sees it.

The runs are a seeded sample of the 57 that failed: ``random.Random(0).sample(failed, 20)`` over (trial, task) in
order. Each was read from its first message to its last, beside what its task expects and the airline's rules,
before any code localised it. The step is the agent's first message whose correction alone would have let the run
pass; messages count from 0, the system prompt is 0.
"""

LABELS: dict[tuple[int, int], tuple[int, str]] = {
    (2, 0): (12, "looks at three of six bookings and says that two are all there is"),
    (7, 0): (18, "offers flights to another airport than the booking's, and not the cheapest"),
    (9, 0): (2, "says that balances cannot be told in place of asking who is there"),
    (16, 0): (6, "insists on a booking number where the user id would have done"),
    (21, 0): (26, "books a new flight; only a change was wanted, though the user says yes to it"),
    (23, 0): (4, "insists on a user id where the booking number would have done"),
    (25, 0): (8, "takes a booking of three days ago for one of the last 24 hours"),
    (30, 0): (24, "refuses to cancel a business booking and hands over"),
    (33, 0): (56, "says that basic economy cannot change its cabin"),
    (37, 0): (16, "sends a certificate for a delay with nothing changed or cancelled"),
    (41, 0): (8, "believes that the booking is ten hours old without looking at its date"),
    (2, 1): (60, "everything was done; the run is cut before the last answer"),
    (3, 1): (32, "calls the option fastest that has no seat and no time to change planes"),
    (4, 1): (4, "insists on a booking number where the user id would have done"),
    (10, 1): (6, "refuses to cancel what was to be cancelled"),
    (16, 1): (8, "gives up without an id, which the user has and does not say"),
    (28, 1): (20, "counts trips that were flown among those to cancel"),
    (31, 1): (20, "proposes to cancel the booking that must stay"),
    (32, 1): (16, "pays by the card that the user chose; the task wants a certificate without saying so"),
    (43, 1): (6, "says that names cannot be changed in basic economy"),
}
"""(task, trial) -> (message, why)."""
