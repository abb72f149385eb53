"""The chat API, through the `openai` client over HTTP."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest

from rsi.serve.failure import LIMIT
from rsi.serve.service import Options
from rsi.settings import Home
from tests.serve.served import BASE, CODER, ROUTER, Site, opened, publish


def ask(site: Site, text: str, model: str = "auto", **more: object) -> openai.types.chat.ChatCompletion:
    return site.client.chat.completions.create(  # type: ignore[call-overload,no-any-return]
        model=model, messages=[{"role": "user", "content": text}], **more
    )


@pytest.mark.parametrize(
    ("text", "role", "model"),
    [
        ("some code please", "L2", CODER),
        ("just chat", "L0", ROUTER),
        ("call an agent", "L1", "base"),
    ],
)
def test_auto_routes_and_the_routes_adapter_answers(site: Site, text: str, role: str, model: str) -> None:
    """A role without an adapter is answered by the base; the reply names trace, version, route."""
    raw = site.client.chat.completions.with_raw_response.create(
        model="auto", messages=[{"role": "user", "content": text}]
    )
    reply = raw.parse()

    assert raw.headers["x-rsi-route"] == role
    assert raw.headers["x-rsi-version"] == site.admin.version()
    assert reply.id == f"chatcmpl-{raw.headers['x-rsi-trace-id']}"
    assert reply.model == model
    content = reply.choices[0].message.content
    assert content is not None
    assert content.startswith(f"{model}: ")
    assert content.endswith(text)
    assert reply.choices[0].finish_reason == "stop"


def test_usage_counts_the_answer_hop(site: Site) -> None:
    """Prompt tokens as the answering model read them, with its system text."""
    reply = ask(site, "write code now")

    assert reply.usage is not None
    assert reply.choices[0].message.content == f"{CODER}: You write code. / write code now"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (6, 8, 14)


def test_a_role_skips_the_route_hop_and_base_takes_no_system_text(site: Site) -> None:
    """Whoever names the model gets it, whatever the request says."""
    assert ask(site, "just chat", "L2").model == CODER
    assert ask(site, "code", "base").choices[0].message.content == "base: code"
    assert [line["route"] for line in site.lines()] == [None, None]


def test_a_stream_spells_the_same_answer(site: Site) -> None:
    """Chunks join to the answer: role, words, finish reason, usage on request, the end mark."""
    body = {"model": "auto", "messages": [{"role": "user", "content": "a  code\n\nthing "}], "stream": True}
    with httpx.stream("POST", f"{site.url}/v1/chat/completions", json=body) as reply:
        text = reply.read().decode()
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert text.endswith("data: [DONE]\n\n")

    with site.client.chat.completions.create(
        model="auto",
        messages=[{"role": "user", "content": "a  code\n\nthing "}],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        chunks = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]

    assert deltas[0].role == "assistant"
    assert len(deltas) > 5
    assert "".join(delta.content or "" for delta in deltas) == f"{CODER}: You write code. / a  code\n\nthing "
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-2:] == [None, "stop"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 5
    assert {chunk.id for chunk in chunks} == {f"chatcmpl-{site.lines()[-1]['trace_id']}"}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"max_tokens": 3}, 3),
        ({"max_completion_tokens": 4, "max_tokens": 9}, 4),
        ({"max_tokens": 999}, 50),
        ({}, 20),
    ],
)
def test_max_tokens_is_honoured_and_capped(home: Home, asked: dict[str, int], given: int) -> None:
    """The request's limit, else the harness's, never more than the deployment's."""
    publish(home, {})
    with opened(home, Options(max_tokens=50)) as site:
        reply = ask(site, "word " * 80, **asked)

    assert reply.choices[0].finish_reason == "length"
    assert reply.usage is not None
    assert reply.usage.completion_tokens == given


def test_sampling_reaches_the_engine(site: Site) -> None:
    """Greedy answers share one seed; sampled ones take the caller's, or a fresh one each."""
    ask(site, "one", "L0", seed=5)
    ask(site, "two", "L0", temperature=0.7, seed=5)
    ask(site, "three", "L0", temperature=0.7, seed=-1)
    ask(site, "four", "L0", temperature=0.7)
    ask(site, "five", "L0", temperature=0.7)
    temperatures, seeds = zip(*((one[3], one[4]) for one in site.engine.asked), strict=True)

    assert temperatures == (0.0, 0.7, 0.7, 0.7, 0.7)
    assert seeds[:3] == (0, 5, 2**63 - 1)
    assert seeds[3] != seeds[4]


def test_text_parts_and_developer_messages_are_understood(site: Site) -> None:
    """Content may come in parts or not at all; a system text of the caller replaces the harness's."""
    reply = site.client.chat.completions.create(
        model="auto",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "co"}, {"type": "text", "text": "de"}]},
        ],
    )

    assert reply.choices[0].message.content == f"{CODER}: Be brief. / code"
    assert site.lines()[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "code"},
    ]


@pytest.mark.parametrize(("text", "reason"), [("nan", "not_a_number"), ("tie", "tie")])
def test_scores_that_decide_nothing_go_to_the_routers_role(site: Site, text: str, reason: str) -> None:
    """Never a guess among equals: the trace says why."""
    ask(site, text)
    route = site.lines()[0]["route"]

    assert isinstance(route, dict)
    assert (route["role"], route["label"], route["reason"]) == ("L0", "chat", reason)
    assert len(route["logprobs"]) == (4 if reason == "tie" else 0)


def test_a_conversation_without_a_user_turn_is_not_routed(site: Site) -> None:
    """There is nothing to route by, and the router is not asked."""
    site.client.chat.completions.create(model="auto", messages=[{"role": "system", "content": "crash code"}])
    route = site.lines()[0]["route"]

    assert isinstance(route, dict)
    assert (route["role"], route["reason"]) == ("L0", "no_request")


def test_an_unknown_model_is_not_found(site: Site) -> None:
    """The client's own exception, with the names that exist; no hop ran, so no trace."""
    with pytest.raises(openai.NotFoundError, match="auto, base, L0, L1, L2, L3") as caught:
        ask(site, "hello", "gpt-9")

    assert (caught.value.code, caught.value.param, caught.value.type) == (
        "model_not_found",
        "model",
        "invalid_request_error",
    )
    assert site.lines() == []


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages.0.content"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 2}, "n"),
        ({"metadata": {"session": 5}}, "metadata.session"),
    ],
)
def test_known_bad_values_are_refused_in_openais_shape(
    site: Site, change: dict[str, object], param: str
) -> None:
    """400 with the place, and nothing reaches the engine or the spool."""
    body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], **change}
    url, headers = f"{site.url}/v1/chat/completions", {"content-type": "application/json"}
    reply = httpx.post(url, content=json.dumps(body), headers=headers)
    error = reply.json()["error"]

    assert reply.status_code == 400
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"].startswith(param)
    assert error["type"] == "invalid_request_error"
    assert site.engine.asked == []
    assert site.lines() == []


def test_what_is_no_json_and_what_is_no_path_are_refused_in_the_same_shape(site: Site) -> None:
    """A client library can always read the error."""
    headers = {"content-type": "application/json"}
    broken = httpx.post(f"{site.url}/v1/chat/completions", content=b"{", headers=headers)
    nowhere = httpx.get(f"{site.url}/v1/nowhere")

    assert (broken.status_code, nowhere.status_code) == (400, 404)
    assert set(broken.json()["error"]) == set(nowhere.json()["error"]) == {"message", "type", "param", "code"}


def test_unknown_fields_are_ignored(site: Site) -> None:
    """As OpenAI's server does."""
    assert ask(site, "code", extra_body={"top_k": 3, "tools": []}).model == CODER


def test_models_lists_auto_base_and_roles_with_their_adapters(site: Site) -> None:
    """One name can be asked for alone."""
    found = {model.id: model.model_dump()["adapter"] for model in site.client.models.list()}

    assert found == {"auto": None, "base": None, "L0": ROUTER, "L1": None, "L2": CODER, "L3": None}
    assert site.client.models.retrieve("L2").id == "L2"
    with pytest.raises(openai.NotFoundError):
        site.client.models.retrieve("gpt-9")


def test_health_and_metrics_tell_what_happened(site: Site) -> None:
    """Requests by route and version, errors by status, latency; health names what is loaded."""
    ask(site, "code")
    ask(site, "code")
    with pytest.raises(openai.NotFoundError):
        ask(site, "x", "gpt-9")
    version = site.admin.version()
    text = httpx.get(f"{site.url}/metrics").text
    health = site.admin.health()

    assert f'rsi_requests_total{{route="L2",version="{version[:12]}"}} 2.0' in text
    assert 'rsi_errors_total{status="404"} 1.0' in text
    assert 'rsi_seconds_count{hop="all"} 2.0' in text
    assert (health.status, health.base, health.queue, health.problems) == ("ok", BASE, 0, ())
    assert health.adapters == {"L0": ROUTER, "L2": CODER}
    assert health.loaded == (ROUTER, CODER)
    assert health.spool is not None
    assert health.spool.endswith(".ndjson.open")


def test_a_body_too_long_or_of_unknown_length_is_refused_unread(site: Site) -> None:
    """A trace stays one readable record, and memory stays ours."""
    url, start = f"{site.url}/v1/chat/completions", '{"model":"base","messages":[{"role":"user","content":"'
    fits = start + "x" * (LIMIT - len(start) - 4) + '"}]}'
    headers = {"content-type": "application/json"}

    assert len(fits) == LIMIT
    assert httpx.post(url, content=fits, headers=headers).status_code == 200
    assert httpx.post(url, content=fits + " ", headers=headers).status_code == 413
    assert httpx.post(url, content=iter([fits.encode()]), headers=headers).status_code == 411
    assert len(site.lines()) == 1


def test_requests_at_the_same_time_do_not_mix(site: Site) -> None:
    """Each gets its own answer, route and trace."""
    texts = [f"{word} {n}" for n in range(10) for word in ("chat", "code", "agent")]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda text: ask(site, text), texts))
    by_id = {f"chatcmpl-{line['trace_id']}": line for line in site.lines()}

    assert len(by_id) == len(texts)
    for text, reply in zip(texts, replies, strict=True):
        line = by_id[reply.id]
        assert line["messages"] == [{"role": "user", "content": text}]
        assert isinstance(line["answer"], dict)
        assert line["answer"]["content"] == reply.choices[0].message.content
        assert (reply.choices[0].message.content or "").endswith(text)
        assert isinstance(line["route"], dict)
        assert line["route"]["label"] == text.split()[0]
