"""What the Prefect server does by itself: a run whose process died without a word becomes *Crashed*."""

from datetime import timedelta

from prefect.automations import Automation
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture

HEARTBEAT = timedelta(seconds=180)
"""How often a running flow says that it lives (``PREFECT_FLOWS_HEARTBEAT_FREQUENCY``, its default)."""
ZOMBIES = "rsi: a run that went silent is crashed"


def zombies() -> Automation:
    """After a heartbeat some event of the run must follow within three of its intervals."""
    return Automation(
        name=ZOMBIES,
        description="Its process or machine died; the night lock died with it. Start the flow again.",
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},
            match={"prefect.resource.id": "prefect.flow-run.*"},
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=3 * HEARTBEAT,
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED,
                message="no heartbeat for nine minutes: the process or its machine died",
            )
        ],
    )


def ensure() -> None:
    """Create the automation, unless it is there."""
    try:
        Automation.read(name=ZOMBIES)
    except ValueError:
        zombies().create()
