"""Recipes and their options over HTTP."""

from dataclasses import dataclass

import pytest
from fastapi.testclient import TestClient
from hardship.llm import llm_server

from everthread.common.keys import SETTING_RECIPE
from everthread.factory import RECIPES
from everthread.llms.openai_compatible import OpenAICompatible
from everthread.recipes.default import Default
from everthread.recipes.options import option, options, with_options
from everthread.server.app import create_app
from everthread.server.services import Services
from server.problem import kind

BANK = "banks/alice%2Fnemo"
RECIPE = f"{BANK}/recipe"
SAMPLED = {"temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens"}  # of a request to the model


def values(recipe: dict[str, object]) -> dict[str, object]:
    return {option["name"]: option["value"] for option in recipe["options"]}  # type: ignore[attr-defined]


def test_all_recipes_are_listed_with_their_options(api: TestClient) -> None:
    items = {recipe["name"]: recipe for recipe in api.get("recipes").json()["items"]}
    assert items.keys() == RECIPES.keys()
    assert all(list(values(items[name])) == list(options(recipe)) for name, recipe in RECIPES.items())
    threshold = next(option for option in items["packabby"]["options"] if option["name"] == "threshold")
    assert (threshold["type"], threshold["optional"], threshold["low"], threshold["high"]) == ("float", True, -1, 1)
    assert threshold["meaning"] == "Minimum cosine of a recalled summary."


def test_a_banks_recipe_and_options_take_effect_at_once(api_with_lines: TestClient) -> None:
    assert (api_with_lines.get(RECIPE).json()["name"], api_with_lines.get(RECIPE).json()["kept"]) == ("default", False)
    answer = api_with_lines.put(RECIPE, json={"name": "packabby", "options": {"threshold": 0.3, "max_hits": 2}}).json()
    assert (answer["name"], answer["kept"], values(answer)["threshold"]) == ("packabby", True, 0.3)
    assert api_with_lines.get(BANK).json()["recipe"] == "packabby"
    changed = api_with_lines.patch(RECIPE, json={"options": {"max_hits": 4, "threshold": None}}).json()
    assert (values(changed)["max_hits"], values(changed)["threshold"]) == (4, None)
    assert api_with_lines.get(f"{BANK}/settings").json().keys() == {"remember"}
    api_with_lines.put(RECIPE, json={})
    assert (api_with_lines.get(RECIPE).json()["name"], api_with_lines.get(RECIPE).json()["kept"]) == ("default", False)


def test_an_option_is_changed_for_the_next_recall(api_with_lines: TestClient) -> None:
    query = {"query": "Who has a dog called Rex?", "k": 1}
    api_with_lines.put(RECIPE, json={"name": "default", "options": {"neighbours": 0}})
    assert len(api_with_lines.post(f"{BANK}/recall", json=query).json()["items"][0]["passage"]) == 1
    api_with_lines.patch(RECIPE, json={"options": {"neighbours": 2}})
    assert len(api_with_lines.post(f"{BANK}/recall", json=query).json()["items"][0]["passage"]) > 1


@pytest.mark.parametrize(
    ("body", "problem", "message"),
    [
        ({"name": "packabby", "options": {"threshold": 5}}, "bad-input", "threshold must be a number from -1 to 1"),
        (
            {"name": "packabby", "options": {"treshold": 0}},
            "bad-input",
            "unknown option 'treshold' of recipe 'packabby'; did you mean 'thresh",
        ),
        ({"name": "elephant"}, "config-error", "unknown recipe 'elephant'; expected one of default, membot"),
        (
            {"options": {"neighbours": 1_000_000_000}},
            "bad-input",
            "neighbours must be a whole number from 0 to 1000, got 100",
        ),
        (
            {"name": "membot", "options": {"neighbours": 2000}},
            "bad-input",
            "neighbours must be a whole number from 0 to 1000",
        ),
        ({"name": "emi", "options": {"candidates": 10**30}}, "bad-input", "from 1 to 10000"),
        ({"name": "goodai", "options": {"max_hits": 10**30}}, "bad-input", "from 1 to 1000"),
        ({"name": "goodai", "options": {"reranking_k_factor": 1e300}}, "bad-input", "a number from 1 to 1000"),
        ({"options": {"neighbours": 1e400}}, "bad-input", "neighbours must be a whole number from 0"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_an_invalid_option_is_rejected_with_its_limits_and_changes_nothing(
    api_with_lines: TestClient, body: dict[str, object], problem: str, message: str, method: str
) -> None:
    content = str(body).replace("'", '"').replace("inf", "1e400")
    answer = api_with_lines.request(method, RECIPE, content=content, headers={"Content-Type": "application/json"})
    assert kind(answer, 422) == problem
    assert message in answer.json()["detail"]
    assert not api_with_lines.get(RECIPE).json()["kept"]


def test_setting_the_recipe_of_a_missing_bank_does_not_create_it(api: TestClient) -> None:
    for method in ("GET", "PUT", "PATCH"):
        body = {} if method == "GET" else {"json": {"name": "emi"}}
        assert kind(api.request(method, "banks/bob/recipe", **body), 404) == "not-found"  # type: ignore[arg-type]
    assert api.get("banks").json()["items"] == []


def test_a_bank_with_an_unknown_recipe_is_rejected_until_it_gets_another(
    api_with_lines: TestClient, services: Services
) -> None:
    services.store.set_setting("alice/nemo", SETTING_RECIPE, {"name": "mine", "options": {}})
    assert kind(api_with_lines.get(BANK), 422) == "config-error"
    assert "unknown recipe 'mine'" in api_with_lines.get(f"{BANK}/lines").json()["detail"]
    assert api_with_lines.put(RECIPE, json={"name": "emi"}).json()["name"] == "emi"
    assert api_with_lines.get(BANK).json()["recipe"] == "emi"


def test_a_banks_options_are_applied_to_the_servers_recipe(services: Services) -> None:
    other = Services(services.store, services.embedder, None, Default(neighbours=3))
    other.get_memory("bob", create=True)
    assert other.get_bank_recipe("bob") == Default(neighbours=3)
    services.store.set_setting("bob", SETTING_RECIPE, {"name": "default", "options": {"max_hits": 7}})
    assert other.get_bank_recipe("bob") == Default(neighbours=3, max_hits=7)


@dataclass(frozen=True, kw_only=True)
class Mine(Default):
    """A recipe whose options have the names of options of other recipes."""

    name = "mine"
    top: int = option(3, "Lines at the top.")
    boundary: str = option("line", "Where it ends.", choices=("line", "none"))


def test_the_options_of_a_recipe_of_ones_own_keep_their_words(services: Services) -> None:
    services._recipes["mine"] = Mine()
    app = create_app(services)
    client = TestClient(app, base_url="http://127.0.0.1:7391/api/v1/", headers={"Accept-Language": "de"})
    items = {recipe["name"]: recipe for recipe in client.get("recipes").json()["items"]}
    own, builtin = ({option["name"]: option for option in items[name]["options"]} for name in ("mine", "default"))
    assert (own["top"]["title"], own["boundary"]["choice_titles"]) == ("top", ["line", "none"])
    assert own["max_hits"]["meaning"] == options(Mine())["max_hits"].limits.meaning
    assert builtin["max_hits"]["title"] == "Höchstzahl"
    app.state.idempotency.close()


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("model", ["em:http://127.0.0.1:9/v1#m", "em:/srv/models", "st:someone/else"])
def test_a_request_can_not_load_another_model_or_contact_another_host(
    api_with_lines: TestClient, method: str, model: str
) -> None:
    answer = api_with_lines.request(method, RECIPE, json={"name": "goodai", "options": {"matcher": model}})
    assert kind(answer, 422) == "bad-input"
    assert "a request may set it to one of '', 'em:minilm'" in answer.json()["detail"]
    assert not api_with_lines.get(RECIPE).json()["kept"]


def test_a_request_can_set_a_shipped_model_or_the_configured_one(
    api_with_lines: TestClient, services: Services
) -> None:
    services._recipes["goodai"] = with_options(RECIPES["goodai"], {"matcher": "em:hash"})
    for model in ("em:minilm", "", "em:hash"):
        answer = api_with_lines.put(RECIPE, json={"name": "goodai", "options": {"matcher": model}}).json()
        assert values(answer)["matcher"] == model


def test_the_servers_recipes_are_not_shown_without_a_key(api: TestClient) -> None:
    assert kind(api.get("recipes", headers={"X-Forwarded-For": "203.0.113.7"}), 401) == "unauthorized"


def test_replies_are_sampled_as_the_recipe_says_unless_the_request_says_otherwise(services: Services) -> None:
    with llm_server("Aye.") as server:
        services = Services(services.store, services.embedder, OpenAICompatible(server.url, "m"), Default())
        app = create_app(services)
        with TestClient(app, base_url="http://127.0.0.1:7391/api/v1/") as client:
            for options in ({"recipe": "packabby"}, {"recipe": "packabby", "top_p": 0.5}, {"recipe": "default"}):
                body = {"text": "Hello.", "options": options}
                assert client.post("banks/sampled/chat/current/reply", json=body).status_code == 200
        app.state.idempotency.close()
        usual, own, none = ({key: body[key] for key in SAMPLED & body.keys()} for body in server.bodies)
    assert usual == {"temperature": 0.5, "top_p": 0.9, "presence_penalty": 0.0, "max_tokens": 300}
    assert own == {**usual, "top_p": 0.5}
    assert none == {}
