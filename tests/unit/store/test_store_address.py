"""The store's address is found without reading TOML whatever else config.toml holds, and it is the one that TOML says."""

import tomllib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleet.errors.given import BadSetting
from fleet.model.settings.setting_names import HOME_FILE, NeedsTomlParser, setting_places
from fleet.model.settings.store_address import SQLITE, WAIT
from fleet.model.settings.table import SETTINGS
from fleet.store import registry
from fleet.world.home.settings import settings_of

ADDRESS = "postgresql://ada@[::1]:5432/fleet?sslmode=verify-full#x"
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
    # A mistake elsewhere is told by whoever reads that setting; here the file has no unknown name.
    assert isinstance(exact, str)
    assert "unknown setting" not in exact
    # In a file that is no TOML nobody can say whether a line is part of a text over several lines.
    if is_toml(text) or not ('"""' in text or "'''" in text):
        assert quick == said_of_the_store(text.replace("\r\n", "\n").replace("\r", "\n"))


def is_toml(text):
    try:
        return bool(tomllib.loads(text)) or not text
    except tomllib.TOMLDecodeError:
        return False


def said_of_the_store(text):
    """What TOML says of the store; when the text is no TOML, what its lines say."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        values = {}
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if (name := key.strip().strip("\"'[] ")) in OF_STORE:
                values |= tomllib.loads(f"{name} = {value}")
    return values.get("store", SQLITE), values.get("store_wait", WAIT)


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


def over_lines():
    lists = [each.name for each in OTHERS if isinstance(each.default, list) or each.kind.accepts(["a"])]
    text = "".join(f"{name} = [ # [store]\n  'a',\n  \"]\", # store = 3\n]\n" for name in lists)
    return f'trash.keep = """\\\nstore = 3 \\""" [\n""""\n{text}[keys]\nquit = [\n"q",\n]\n'


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize("layout", [dotted, quoted, in_tables, inline])
@pytest.mark.parametrize(
    ("of_store", "expected"),
    [
        ("", (SQLITE, WAIT)),
        ('store = "sqlite"\nstore_wait = 30\n', (SQLITE, WAIT)),
        ("store_wait=0.25#s\n'store' = 'sqlite' # mine\n", (SQLITE, 0.25)),
        (f'"store" = "{ADDRESS}"\n', (ADDRESS, WAIT)),
    ],
    ids=["unset", "sqlite", "short wait", "postgresql"],
)
def test_no_setting_is_a_reason_to_read_toml(layout, of_store, expected, tmp_path):
    text = f"# mine\n\n{of_store}{layout()}"
    (tmp_path / HOME_FILE).write_text(text)
    assert tomllib.loads(text)
    assert registry._known_setting(str(tmp_path / HOME_FILE)) == expected
    assert read_whole(str(tmp_path)) == registry._store_setting(str(tmp_path)) == expected


@pytest.mark.req("CONF-1")
def test_lists_and_texts_over_several_lines_are_no_reason_to_read_toml(tmp_path):
    (tmp_path / HOME_FILE).write_text(over_lines())
    assert tomllib.loads(over_lines())["environment"]["pass"] == ["a", "]"]
    assert registry._known_setting(str(tmp_path / HOME_FILE)) == (SQLITE, WAIT)
    (tmp_path / HOME_FILE).write_text(f"store_wait = 3\n{over_lines()}")
    assert registry._known_setting(str(tmp_path / HOME_FILE)) == (SQLITE, 3)


@pytest.mark.req("CONF-1")
@pytest.mark.parametrize(
    "text",
    [
        *('store = "mysql:///f"', 'store = ""', 'store = "sqlite', "store = sqlite", 'store = "sqlite" x', "store = 3"),
        *('store = """sqlite"""', 'store = ["sqlite"]', 'store.url = "sqlite"', 'store = { url = "sqlite" }', "[store]"),
        *(r'store = "postgresql://\u0041"', 'store = "postgresql://a\tb"', 'store = "sqlite"\n"store" = "postgres://"'),
        *("store_wait = 0", "store_wait = -1", "store_wait = 3601", "store_wait = 1e2", "store_wait = 1_0"),
        *("store_wait = 010", "store_wait = .5", "store_wait = 5.", "store_wait = nan", "store_wait = true"),
        *("store_wait = '3'", "store_wait =", "store_wait = 3 4", "store_wait = 3\nstore_wait = 4", "stroe = 'sqlite'"),
    ],
)  # fmt: skip
def test_what_is_wrong_or_uncommon_is_left_to_the_reader_of_toml(text, home):
    (home / HOME_FILE).write_text(f"{text}\n", newline="")
    assert registry._known_setting(str(home / HOME_FILE)) is None
    assert answer(registry._store_setting, home) == answer(read_whole, home)


# Valid TOML: texts with what may end them or look like a setting, in each kind of quotes; lists; tables; comments.
CONTENT = st.text(st.sampled_from("ab \"'\\[]{}#=,.\n"), max_size=8) | st.sampled_from(
    ["store = 1", "\nstore = 1\n", '"""', "\\"]
)
COMMENT = st.sampled_from(["", " # ]", ' # """', " #store = 3"])


def basic(content):
    """The content of a text with double quotes: every quote and backslash is escaped."""
    return content.replace("\\", "\\\\").replace('"', '\\"')


def literal(content):
    return content.replace("'", "").replace("\n", "")


def long_basic(content):
    """The same between three quotes, where single quotes and line ends may stand as they are."""
    content = content.replace("\\", "\\\\").replace('""', '"\\"')
    return f'"""{content}"""'


def lists(items):
    def joined(parts):
        inner = "".join(f"{item}{gap},{comment}\n" for item, gap, comment in parts)
        return f"[ # (\n{inner}]"

    return st.lists(st.tuples(items, st.sampled_from(["", " ", "\n\t"]), COMMENT), max_size=3).map(joined) | st.lists(
        items, max_size=3
    ).map(lambda parts: f"[{', '.join(parts)}]")


TEXTS = st.one_of(
    CONTENT.map(lambda each: '"' + basic(each).replace("\n", "\\n") + '"'),
    CONTENT.map(lambda each: f"'{literal(each)}'"),
    CONTENT.map(long_basic),
    CONTENT.map(lambda each: "'''" + each.replace("'", "") + "'''"),
)
NUMBERS = st.sampled_from(
    ["3", "-1_000", "2.5e-3", "true", "inf", "0x1F", "1979-05-27 07:32:00", "07:32:00.5", "1979-05-27T00:32:00-07:00"]
)
ANY = st.recursive(TEXTS | NUMBERS, lists, max_leaves=4)
# Common values of the settings of the store: they are known without the parser.
VALUES_OF_STORE = {
    "store": st.sampled_from(['"sqlite"', "'sqlite'", '"postgresql:///f#x"', "'postgres://u:p%22@h/f'"]),
    "store_wait": st.sampled_from(["1", "30.0", "0.25", "3600"]),
}
LAYOUTS = ("dotted", "table", "inline")


@st.composite
def valid(draw):
    """A valid config.toml with some settings of the table, now and then one of the store."""
    alone = draw(
        st.lists(
            st.sampled_from([each.name for each in OTHERS if "." not in each.name and each.name != "keys"]),
            max_size=3,
            unique=True,
        )
    )
    alone += draw(st.sampled_from([[], [], ["store"], ["store_wait"], ["store", "store_wait"]]))
    lines = [
        f"{draw(spelled(name))} = {draw(VALUES_OF_STORE.get(name, ANY))}{draw(COMMENT)}"
        for name in draw(st.permutations(alone))
    ]
    for table in draw(st.lists(st.sampled_from([*TABLES, "keys"]), max_size=3, unique=True)):
        keys = ["quit", "kill"] if table == "keys" else [each.name.partition(".")[2] for each in of(table)]
        pairs = [(key, draw(ANY)) for key in draw(st.lists(st.sampled_from(keys), max_size=3, unique=True))]
        layout = draw(st.sampled_from(LAYOUTS))
        if layout == "dotted":
            lines = [f"{table} . {key} = {value}" for key, value in pairs] + lines
        elif layout == "inline":
            lines.insert(0, f"{table} = {{ {', '.join(f'{key} = {value}' for key, value in pairs)} }}")
        else:
            lines += [
                f"[{draw(st.sampled_from(['', ' ']))}{table} ]{draw(COMMENT)}",
                *(f"{key}={value}" for key, value in pairs),
            ]
    return draw(st.sampled_from(["\n", "\r\n"])).join("\n".join(lines).split("\n")) + draw(st.sampled_from(["", "\n"]))


@pytest.mark.req("CONF-1")
@pytest.mark.slow("hundreds of files")
@settings(max_examples=400, deadline=None)
@given(text=valid())
def test_a_valid_file_need_not_be_read_as_toml(text, home):
    """Only an escape in a key is a doubt: `spelled` writes some."""
    loaded = tomllib.loads(text)
    (home / HOME_FILE).write_text(text, newline="")
    known = registry._known_setting(str(home / HOME_FILE))
    expected = loaded.get("store", SQLITE), loaded.get("store_wait", WAIT)
    assert known == expected or (known is None and "\\u" in text)


@pytest.mark.slow("hundreds of files")
@settings(max_examples=300, deadline=None)
@given(text=valid(), cut=st.integers(0, 400))
def test_a_file_that_is_cut_is_followed_to_its_end_or_doubted(text, cut):
    names = []
    try:
        names.extend(name for name, _ in setting_places(text.replace("\r\n", "\n")[:cut]))
        tomllib.loads(text[:cut])
    except (NeedsTomlParser, tomllib.TOMLDecodeError):
        return
    assert OF_STORE.isdisjoint(tomllib.loads(text[:cut])) == OF_STORE.isdisjoint(names)


@pytest.mark.req("CONF-1")
def test_the_settings_that_do_not_concern_the_store_are_those_of_the_table():
    """`make hot` writes them, and `make check` compares the file."""
    tables = {f"{table}." for table in TABLES}
    assert {each.name for each in OTHERS} - {"keys"} | tables == registry.ELSEWHERE  # a table of its own
