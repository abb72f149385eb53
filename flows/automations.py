"""What the Prefect server does by itself: a run whose process died without a word becomes *Crashed*, and a web hook is
told of runs that wait for a person, failed or crashed."""

import re
from datetime import timedelta
from uuid import UUID

from prefect.automations import Automation
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture

HEARTBEAT = timedelta(seconds=180)
"""How often a running flow says that it lives (``PREFECT_FLOWS_HEARTBEAT_FREQUENCY``, its default)."""
ZOMBIES = "rsi: a run that went silent is crashed"
TOLD = ("Suspended", "Failed", "Crashed")
"""States that the web hook is told of."""


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


def notices(deployment: str, block: UUID) -> Automation:
    """Each run of a deployment that comes into one of these states is told; by its name, not by what it says."""
    return Automation(
        name=_named(deployment),
        description="A person is asked, or has to look.",
        trigger=EventTrigger(
            expect={f"prefect.flow-run.{state}" for state in TOLD},
            match={"prefect.resource.id": "prefect.flow-run.*"},
            match_related={
                "prefect.resource.role": "deployment",
                "prefect.resource.name": deployment,
            },
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[
            SendNotification(
                block_document_id=block,
                subject=f"rsi {deployment}",
                body="{{ flow_run.name }}: {{ flow_run.state.name }}\n{{ flow_run | ui_url }}",
            )
        ],
    )


def tell(deployment: str, url: str) -> None:
    """Have a web hook told of the runs of a deployment: a POST of JSON with ``subject`` and ``text``.

    The address is a secret, and kept as one. Told again, a new address takes the place of the old one.
    """
    block = CustomWebhookNotificationBlock(
        name=_named(deployment),
        url="{{hook}}",
        json_data={"subject": "{{subject}}", "text": "{{body}}"},
        secrets={"hook": url},
    )
    kept = block.save(f"rsi-{re.sub('[^a-z0-9]+', '-', deployment.lower())}", overwrite=True)
    try:
        Automation.read(name=_named(deployment))
    except ValueError:
        notices(deployment, kept).create()


def _named(deployment: str) -> str:
    return f"rsi {deployment}: tell the web hook"
