from pathlib import Path

from everthread.common import keys

PACKAGE = Path(keys.__file__).parents[1]
WRITTEN_BY_0_1_0 = {
    "META_PREFIX": "everthread.",
    "META_ECHO": "everthread.echo",
    "META_REPLACED_CHARACTERS": "everthread.replaced_characters",
    "META_KEY_FROM": "everthread.key_from",
    "META_REPEATS": "everthread.again",
    "META_CORRECTS": "everthread.corrects",
    "META_NEEDS_CONSENT": "everthread.asked",
    "META_GREETING": "everthread.greeting",
    "META_HEARD": "everthread.heard",
    "META_OFFERED": "everthread.offered",
    "META_BY_HAND": "everthread.by_hand",
    "META_NOTED_TO": "everthread.noted",
    "META_REWRITTEN": "everthread.rewritten",
    "META_CHUNK": "everthread.chunk",
    "SETTING_RECIPE": "recipe",
    "SETTING_SCRIBE": "scribe",
    "SETTING_CHARACTER": "character",
    "SETTING_REMEMBER": "remember",
    "SETTING_PINNED": "pinned",
    "SETTING_SAMPLE": "sample",
    "SETTING_OFFERS": "offers",
    "SETTING_ASKED_AT": "goodbye",
    "SETTING_SMS": "sms",
    "SETTING_TELEGRAM": "telegram",
    "SETTING_CHUNKS": "everthread.goodai",
}
ADDED_SINCE = {
    "META_REPLACES": "everthread.replaces",
    "META_UNDATED": "everthread.undated",
    "META_RECALLED": "everthread.recalled",
    "SETTING_RESPONSES": "everthread.responses",
    "SETTING_DELETED_EVENTS": "everthread.deleted_events",
    "SETTING_DEMO": "demo",
    "SETTING_FORGET_ASKED_AT": "goodbye_no",
    "SETTING_HOME": "home",
    "SETTING_PERSON_NAMES": "person_names",
    "SETTING_FORMER_NAMES": "former_names",
    "SETTING_FACTS": "everthread.facts",
    "SETTING_ENTITIES": "everthread.entities",
    "SETTING_MODEL_FACTS": "model_facts",
    "SETTING_BACKUPS": "everthread.backups",
    "SETTING_DROPPED_FACTS": "everthread.dropped_facts",
    "SETTING_RECALL_FROM": "recall_from",
    "SETTING_SHARED_WITH": "shared_with",
    "SESSION_FACTS_TO": "facts_to",
    "SESSION_GROUP": "group",
    "SESSION_HEARD_BY": "heard_by",
}


def test_the_reserved_names_match_the_files_of_the_first_release_and_those_since() -> None:
    names = {name: value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)}
    assert names == WRITTEN_BY_0_1_0 | ADDED_SINCE


def test_no_other_module_contains_a_reserved_key() -> None:
    reserved = [value for value in (WRITTEN_BY_0_1_0 | ADDED_SINCE).values() if value.startswith("everthread.")]
    modules = [path for path in PACKAGE.rglob("*.py") if path != Path(keys.__file__)]
    literals = [(path.name, value) for path in modules for value in reserved if f'"{value}"' in path.read_text("utf-8")]
    assert literals == []
