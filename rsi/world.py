"""The world of a deployment as it is: the system's clock, its base model, an engine on it."""

from functools import cache

from rsi.context import Base, Examiner, World
from rsi.errors import ContractError
from rsi.ports import Clock, Engine, Judge, Progress, SystemClock, silent
from rsi.settings import Deployment, gate_command


def real(deployment: Deployment, progress: Progress = silent, clock: Clock | None = None) -> World:
    """The world that a deployment file describes; model and engine are loaded on first use."""

    @cache
    def base() -> Base:
        from rsi.assets import base_folder

        return Base(*base_folder(deployment.base))

    @cache
    def engine() -> Engine:
        if deployment.engine != "local":
            if not deployment.engine.startswith(("http://", "https://")):
                raise ContractError(
                    f"engine {deployment.engine!r} in the deployment file is neither 'local' nor an http(s) URL"
                )
            from rsi.engine.openai import OpenAIEngine, endpoint

            return OpenAIEngine(endpoint(deployment.engine), deployment.base, base().digest)
        from rsi.engine.local import LocalEngine

        return LocalEngine(base().folder, base().digest)

    @cache
    def judge() -> Judge | None:
        said = deployment.judge
        if not said.url:
            return None
        from rsi.engine.openai import OpenAIEngine, endpoint
        from rsi.verifiers.judge import EngineJudge

        return EngineJudge(OpenAIEngine(endpoint(said.url), said.model, ""), said.model)

    return World(clock or SystemClock(), progress, base, engine, judge=judge, examiner=_examiner())


def _examiner() -> Examiner | None:
    """The gate's process, where ``RSI_GATE`` says how it is started."""
    command = gate_command()
    if not command:
        return None
    from rsi.gate.examiner import Process

    return Process(command)
