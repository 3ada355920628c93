import pytest

from everthread.errors import ConfigError
from everthread.stores.postgres.connections import Database
from everthread.stores.postgres.dsn import identify, redact_password

SECRET = "zqx"


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("postgresql://ann:zqx@host:5432/db", "postgresql://ann@host:5432/db"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql://host:5432/db?options=a@b", "postgresql://host:5432/db?options=a@b"),
        ("postgresql://[::1]:5432/db?options=a@b", "postgresql://[::1]:5432/db?options=a@b"),
        ("postgresql://ann:z:qx?zqx@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:zqx@zqx@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:zqx//zqx@host/db", "postgresql://ann@host/db"),
        ("postgresql:///db?user=ann&password=zqx&host=/tmp", "postgresql:///db?user=ann&password=…&host=/tmp"),
        ("host=here user=ann password='zqx zqx' dbname=db", "host=here user=ann password=… dbname=db"),
        ("mysql://ann:zqx@host", "mysql://ann@host"),
        ("/home/ann", "/home/ann"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, without: str) -> None:
    assert redact_password(url) == without


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:zqx/zqx@host/db", "write %40 for @, and %2F for /"),
        ("postgresql://ann:zqx@zqx@host/db", "write %40 for @, and %2F for /"),
        ("postgresql://ann:zqx%zqx@host/db", "contains an unescaped %; write %25"),
        ("postgresql://ann:zqx@host:port/db", "its port is not a number from 1 to 65535"),
        ("postgresql://ann:zqx@host:99999/db", "its port is not a number from 1 to 65535"),
        ("postgresql://ann:zqx@[::1/db", "its port is not a number|is not a Postgres URL"),
        ("postgresql://ann:zqx@host/db?colour=red", "is not a Postgres URL .invalid URI query parameter"),
        ("postgresql://host/db?colour=red", 'invalid URI query parameter: "colour".; write postgresql://user@host/d'),
        ("postgresql://host/db?password=a&zqx", "is not a Postgres URL .missing key/value separator"),
        (
            "mysql://ann:zqx@host/db",
            "'mysql://ann@host/db' is not a Postgres URL; write postgresql://user@host/database",
        ),
        ("host=here password=zqx", "is not a Postgres URL; write postgresql://user@host/database"),
    ],
)
def test_a_malformed_url_is_rejected_with_a_remedy_and_without_its_password(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        Database(url)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["postgresql://ann:zq%40x@one:5432,two:5433/db?target_session_attrs=primary", "postgres:///db?host=/tmp"]
)
def test_every_url_that_the_driver_accepts_is_accepted(url: str) -> None:
    assert "application_name=everthread" in Database(url).conninfo


def test_parameters_of_the_url_override_the_defaults() -> None:
    conninfo = Database("postgresql://host/db?connect_timeout=30&application_name=mine").conninfo
    assert "connect_timeout=30" in conninfo
    assert "application_name=mine" in conninfo


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:z?qx@here/db",
        "postgres://here:5432/db",
        "postgresql://here/db?connect_timeout=30&sslmode=require",
        "postgresql://ann@/db?host=here&port=5432",
        "postgresql://here/%64b",
        "postgresql://db@here",
        "postgresql://here?dbname=db",
    ],
)
def test_a_database_is_the_same_with_another_user_or_other_parameters(url: str) -> None:
    assert identify(url) == identify("postgresql://bob@here/db")


@pytest.mark.parametrize("url", ["postgresql://there/db", "postgresql://here/other", "postgresql://here:5433/db"])
def test_another_server_or_another_database_is_not_the_same(url: str) -> None:
    assert identify(url) != identify("postgresql://here/db")
