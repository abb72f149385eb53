"""The flow of a work pool: work on one training job, in its folder or at its URL."""

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.progress import ArtifactProgress
from rsi.errors import RsiError
from rsi.settings import quiet_dependencies


@flow(name="job", retries=0)
def job(place: str, base: str | None = None) -> State[None]:
    """Train the job at `place` to its end, or find it done.

    A failure of ours is a *Failed* state named by its class, so that whoever submitted the job can raise it again.
    """
    quiet_dependencies()
    from rsi.update.remote import work_on

    try:
        end = work_on(place, base, ArtifactProgress())
    except RsiError as error:
        return Failed(name=type(error).__name__, message=str(error))
    return Completed(message=end.words)
