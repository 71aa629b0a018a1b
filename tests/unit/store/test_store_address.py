"""The store's address is found without reading TOML when config.toml sets nothing of the store, and is never another one for that."""

import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleet.errors.given import BadSetting
from fleet.model.settings.table import HOME_FILE, SETTINGS
from fleet.store import registry
from fleet.world.home.settings import settings_of

OF_STORE = {"store", "store_wait"}
OTHERS = [each for each in SETTINGS if each.file == HOME_FILE and each.name not in OF_STORE]
TABLES = sorted({each.name.partition(".")[0] for each in OTHERS if "." in each.name})
KEYS = [
    "store",
    "store_wait",
    "stroe",
    "Store",
    "trash",
    "limits",
    "agents",
    "keep",
    "keep_operations",
    "trust",
    "x.store",
]
HEADS = [*TABLES, "store", "limits.store", "sqlite", "x"]
VALUES = [
    '"sqlite"',
    '"postgresql:///f"',
    "3",
    "2.5",
    '"7d"',
    "{ agents = 3 }",
    "{ keep = '7d', store = 1 }",
    "{}",
    "[",
    "]",
]
VALUES += [
    '"""',
    "'''",
    '"""store = 1"""',
    '"store = 3"',
    '"a # b"',
    "{ agents = 3 } # x",
    '["a", "b"]',
    '"x" # store = 3',
]


def read_whole(home: str) -> tuple[str, float]:
    """The address as the reader of TOML finds it."""
    values = settings_of(home, None)
    return values["store"].value, float(values["store_wait"].value)


def written(setting):
    tried = (setting.default, "22:00-07:00", ["program"], "/a/path", 1)
    default = next(each for each in tried if each is not None and setting.kind.accepts(each))
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def spelled(key):
    quoted = [f'"{key}"', f"'{key}'", f'"{key[:-1]}\\u{ord(key[-1]):04x}"', f'"\\u{ord(key[0]):04x}{key[1:]}"']
    return st.sampled_from(
        [key, key, *quoted, key.replace(".", " . "), ".".join(f'"{part}"' for part in key.split("."))]
    )


KEY = st.sampled_from([*KEYS, *(each.name for each in OTHERS)]).flatmap(spelled)
LINE = st.one_of(
    st.builds("{}{}{}= {}{}".format, st.sampled_from(["", "  ", "\t"]), KEY, st.sampled_from(["", " "]),
              st.sampled_from(VALUES), st.sampled_from(["", " ", " # store"])),
    st.sampled_from(OTHERS).map(lambda each: f"{each.name} = {written(each)}"),
    st.builds("{}{}{}{}".format, st.sampled_from(["[", "[ ", "[["]), st.sampled_from(HEADS).flatmap(spelled),
              st.sampled_from(["]", " ]", "]]"]), st.sampled_from(["", " # store = 3"])),
    st.sampled_from(["", "# store = 1", "  # [store]", '"""', "'''", "]", "store", "\x0cstore = 1", "\ufeffstore = 3"]),
)  # fmt: skip
TEXT = st.tuples(st.lists(LINE, max_size=6), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda both: both[1].join(both[0])
)


def answer(ask, home):
    try:
        return ask(str(home))
    except BadSetting as error:
        return str(error)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.mark.req("CONF-1")
@settings(max_examples=150, deadline=None)
@given(text=TEXT)
@example(text='keep_operations = """\n[limits]\nagents = 3"""\nstore = "postgresql:///f"\n')
@example(text='"st\\u006fre" = "postgresql:///f"\n')
@example(text="[limits]\nagents = 3\n[store]\n")
@example(text="limits = { agents = 3 } store = 5\n")
@example(text="keep_operations = { store = 5 }\n")
@example(text="limits = { agents = 3 }\nstore_wait = 5\n")
def test_the_address_is_the_one_that_the_reader_of_toml_finds(text, home):
    (home / HOME_FILE).write_text(text, newline="")
    quick, exact = answer(registry._store_setting, home), answer(read_whole, home)
    if quick == exact:
        return
    # A mistake elsewhere is told by whoever reads that setting; here the file sets no store and no unknown name.
    assert quick == ("sqlite", registry.WAIT)
    assert "unknown setting" not in str(exact)
    try:
        assert OF_STORE.isdisjoint(tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n")))
    except tomllib.TOMLDecodeError:
        keys = [line.partition("=")[0].strip().strip("\"'[] ") for line in text.splitlines()]
        assert OF_STORE.isdisjoint(keys)


def dotted():
    return "".join(f"{each.name} = {written(each)}\n" for each in OTHERS)


def quoted():
    return "".join(f'"{each.name.replace(".", chr(34) + " . " + chr(34))}" = {written(each)} # x\n' for each in OTHERS)


def of(table):
    return [each for each in OTHERS if each.name.partition(".")[0] == table and "." in each.name]


def alone():
    return "".join(f"{each.name} = {written(each)}\n" for each in OTHERS if "." not in each.name)


def in_tables():
    keys = {
        table: "".join(f"{each.name.partition('.')[2]} = {written(each)}\n" for each in of(table)) for table in TABLES
    }
    return alone() + "".join(f"\n[{table}] # mine\n{text}" for table, text in keys.items())


def inline():
    keys = {
        table: ", ".join(f"{each.name.partition('.')[2]} = {written(each)}" for each in of(table)) for table in TABLES
    }
    return alone() + "".join(f"{table} = {{ {text} }}\n" for table, text in keys.items())


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("layout", [dotted, quoted, in_tables, inline])
def test_no_setting_but_those_of_the_store_is_a_reason_to_read_toml(layout, tmp_path):
    (tmp_path / HOME_FILE).write_text(f"# mine, not of the store\n\n{layout()}")
    assert tomllib.loads(layout())
    assert registry._is_without_store(str(tmp_path / HOME_FILE))
    assert read_whole(str(tmp_path)) == registry._store_setting(str(tmp_path)) == ("sqlite", registry.WAIT)


@pytest.mark.req("CONF-1")
def test_the_settings_that_do_not_concern_the_store_are_those_of_the_table():
    assert {name.decode() for name in registry.ELSEWHERE} == {each.name for each in OTHERS} - {
        "keys"
    }  # a table of its own
