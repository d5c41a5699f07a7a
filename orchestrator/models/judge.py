"""Asks a model for a verdict: the callable that graders take, and repeated grading of what is stored."""

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.models.client import ModelClient
from orchestrator.models.failures import ModelFailureError
from orchestrator.models.judging import (
    Judgement,
    JudgeSettings,
    Scale,
    judge_request,
    judge_version,
    parse_judgement,
)
from suites.judging import Judge, JudgeAnswer, JudgeQuestion


@dataclass(frozen=True, slots=True)
class Graded:
    """One grade: the judgement, the whole answer, its version and its cost."""

    judgement: Judgement
    text: str
    version: str
    cost_usd: float | None


def grade_once(client: ModelClient, settings: JudgeSettings, question: JudgeQuestion, scale: Scale) -> Graded:
    """Ask once. A refusal or a reply cut off is an unreadable verdict. Raises ModelFailureError."""
    version = judge_version(settings, question.prompt, question.version, scale)
    request = judge_request(settings, question.prompt, question.instruction, question.said, question.files, scale)
    reply = client.ask(request)
    complete = reply.stop_reason in ("end_turn", "stop_sequence")
    judgement = parse_judgement(reply.text, scale) if complete else Judgement(None, None, str(reply.stop_reason))
    return Graded(judgement, reply.text, version, client.meter.last_cost_usd)


def make_judge(connect: Callable[[str], ModelClient], settings: JudgeSettings, scale: Scale | None = None) -> Judge:
    """The callable for suites' judge grader.

    `connect` opens a client for a model. A task may name a model of its own. An API that fails gives no
    verdict, with its words in `text`: GRADER_ERROR, never a failure of the agent.
    """
    chosen = scale or Scale()

    def judge(question: JudgeQuestion) -> JudgeAnswer:
        asked = (
            settings
            if question.model is None
            else JudgeSettings(question.model, settings.max_tokens, settings.temperature, settings.thinking)
        )
        try:
            with connect(asked.model) as client:
                graded = grade_once(client, asked, question, chosen)
        except ModelFailureError as failure:
            return JudgeAnswer(None, "", f"the judge could not be asked: {failure}")
        version = judge_version(asked, question.prompt, question.version, chosen)
        return JudgeAnswer(graded.judgement.passed, graded.judgement.verdict, graded.text, graded.cost_usd, version)

    return judge
