"""Placeholders of a job's document: a value is text in a prompt and a variable in a command, never a part of the command."""

import os
import shutil
import subprocess

import pytest

from fleet.model.jobs.placeholders import LONGEST_VARIABLE, Missing, fill, fill_shell, names_in, unquotable, value_of

VALUES = {"item": {"path": "a b.txt", "n": 3, "tags": ["x", "é"]}, "env": {"HOME": "/h"}}


def test_a_text_gets_strings_as_they_are_and_anything_else_as_json():
    assert fill("{item.path} {item.n} {item.tags} {item.tags.1} {env.HOME}", VALUES) == 'a b.txt 3 ["x", "é"] é /h'


def test_braces_that_are_no_placeholder_stay_and_doubled_ones_are_the_placeholder_itself():
    text = "{{item.path}} {other} {item path} ${HOME} {}"
    assert fill(text, VALUES) == "{item.path} {other} {item path} ${HOME} {}"
    assert fill_shell(text, VALUES) == ("{item.path} {other} {item path} ${HOME} {}", {})
    assert names_in(f"{text} {{item.n}} {{setup.x.y-z}}") == ["item.n", "setup.x.y-z"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("map.x", "{map.x}: there is no map here"),
        ("item.size", "{item.size}: item has no 'size'"),
        ("item.tags.2", "{item.tags.2}: item has no '2'"),
        (f"item.tags.{'9' * 5_000}", f"{{item.tags.{'9' * 5_000}}}: item has no '{'9' * 5_000}'"),
        ("item.path.x", "{item.path.x}: item has no 'x'"),
    ],
    ids=["root", "key", "number", "long number", "text"],
)
def test_what_has_no_value_is_named(name, why):
    with pytest.raises(Missing) as caught:
        value_of(name, VALUES)
    assert (caught.value.name, str(caught.value)) == (name, why)


HOSTILE = [
    "a b",
    "a[$(touch hit)]",
    "$(touch hit)",
    "`touch hit`",
    "'; touch hit; '",
    '"; touch hit; "',
    "\\",
    "*",
    "$HOME",
    "-n",
    "a\nb",
    "é",
    "#a",
    ")",
    "E",
]


@pytest.mark.parametrize(
    "command",
    [
        "printf %s {item}",
        'printf %s "{item}"',
        "printf %s '{item}'",
        'printf %s "$(printf %s {item})"',
        "printf %s \"$(printf %s '{item}')\"",
        "printf %s \"it's \"'{item}' | sed \"1s/^it's //\"",
        "# don't\nprintf %s {item} # it's {item}",
        "set -- a#'b' {item}; printf %s \"$2\"",
        'printf %s "$( (true) ; printf %s {item})"',
        'printf %s "$(printf %s "$(f() { printf %s "$1"; }; f {item})")"',
        "printf %s \"$(printf %s '#)' >/dev/null # it's )\nprintf %s {item})\"",
        'printf %s "$(case a in (b) echo no;; a|case) printf %s {item} ;;\nesac)"; : "{item}"',
        'printf %s "$(if true; then case a in case) ;; a) printf %s {item}; esac; fi)"',
        'printf %s "$(for i in case; do echo case >/dev/null; printf %s {item}; done)"',
        'printf %s "`printf %s {item}`"',
        'printf %s "`printf %s ""\'{item}\'`"',
        'printf %s "$(cat <<E\n{item}\nE\n)"',
        "x=$(cat <<-E1; : <<'E2'\n\t{item}\n\tE1\nit's \"\nE2\n: {item}); printf %s \"$x\"",
        "printf %s \"$(cat <<E | sed \"1s/^it's //\"\nit's $(printf %s '{item}')\nE\n)\"",
        'printf %s "${x:-{item}}"',
        "printf %s ${x:-{item}}${x:-''}",
        'x={item}.c; printf %s "${x%.c}"; : ${#x} "{item}"',
        'x=.c; y=.c{item}; printf %s "${y#"$x"}"; : "${y#{item}}"',
        "printf '' $((1 + (2))) \"$((1 << 2))\"; printf %s {item}",
        "printf %s '${item}' | sed '1s/^.//'",
        "printf %s \"\\${item}\" \\\n | sed '1s/^.//'",
        'printf %s "$(f() { case $1 in a) echo no;; *) printf %s {item};; esac; }; f b)"',
        'printf %s "$(f() { for i in 1; do case $i in (case|esac) echo no;; 2|case) ;; 1) printf %s {item};; esac; done; }; f)"',
        'cat <<E >/dev/null; x=$(\nprintf %s {item}\n)\nit\'s \nE\nprintf %s "$x"',
        'printf %s "$(case a in (a) for i in b; do :; done; (printf %s {item});; (b) ;; esac)"',
        'unset x; : "${x:={item}}"; printf %s "$x"',
        'x=$(printf %s `printf %s \\"`); printf %s {item}',
        'x=`printf %s \\"`{item}; printf %s "${x#?}"',
    ],
)
def test_a_value_reaches_a_command_unchanged_inside_quotes_and_outside(command, tmp_path):
    for value in HOSTILE:
        assert_reached("sh", command, value, tmp_path)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "command",
    [
        "n=1; (( n << 2 ))\nprintf %s {item}",
        "for ((i=0; i<1; i++)); do printf %s {item}; done",
        'x=$[1 + 2]; printf %s "$(function f { case b in a) ;; *) printf %s {item};; esac; }; f)"',
        'a=({item} [a]); a[1]={item}; printf %s "${a[0]}"',
        "x=$'a\\n'; printf %s {item}",
    ],
)
def test_a_value_reaches_a_command_in_bash_unchanged(command, tmp_path):
    for value in HOSTILE:
        assert_reached("bash", command, value, tmp_path)


def assert_reached(shell, command, value, directory):
    words, variables = fill_shell(command, {"item": value})
    done = subprocess.run(
        [shell, "-c", words],
        cwd=directory,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == value, words
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "sh <<'E'\nprintf {item}\nE",
            "put it into a variable before, as in V={item} sh <<'E', and use that there; only where",
        ),
        ("cat <<\\E\n{item}\nE", "in a here-document whose delimiter is quoted"),
        ("echo `echo \\`echo {item}\\``", "in backticks that have a backslash before it"),
        ("echo \\{item}", "a backslash is right before it"),
        ('echo "\\{item}"', "a backslash is right before it"),
        ('echo "${item}"', "a dollar sign is right before it"),
        ('echo "`echo \\"{item}\\"`"', "in backticks that have a backslash before it"),
        ("echo $((1 + ({item})))", r"in $(( … ))"),
        ('echo "$((1 + ${x:-{item}}))"', r"in $(( … ))"),
        ('echo $(( ${x:-"{item}"} ))', r"in $(( … ))"),
        ("(( {item} ))", r"or (( … ))"),
        ("case a in a) (({item}));; esac", r"or (( … ))"),
        ("for ((i={item}; i<2; i++)); do :; done", r"or (( … ))"),
        ("((echo ')'); echo {item})", "after (( that does not end with ))"),
        ("((echo a); echo b); echo {item}", "after (( that does not end with ))"),
        ("echo $[ {item} ]", "after $["),
        ('echo "$[ \'" {item}', "after $["),
        ("echo ${x/{item}/b}", r"in a form of ${ … }"),
        ('echo ${y:"{item}"}', r"in a form of ${ … }"),
        ("echo ${y:${x:-{item}}}", r"in a form of ${ … }"),
        ("x=1 a[1+{item}]=2", "in the index of an array"),
        ('a["{item}"]=2', "in the index of an array"),
        ("a=([{item}]=1)", "in the index of an array"),
        (": ${y:={item}}", r"in ${NAME:= … } without double quotes"),
        ("echo $'it\\'s' {item}", r"after a text in $'…'"),
        ("x=$(cat <<E)\n{item}\nE", "after a here-document that does not begin before the end"),
        ("x=`cat <<E`\n{item}\nE", "after a here-document that does not begin before the end"),
        ("cat <<{item}", "in the delimiter of a here-document"),
        ("cat <<-E'a b'{item}", "in the delimiter of a here-document"),
    ],
)
def test_a_place_where_no_value_can_be_quoted_is_refused_before_and_when_it_is_filled_in(command, why):
    ((name, told),) = unquotable(f"echo {{item}}; {command}")
    assert name == "item"
    assert why in told
    with pytest.raises(Missing) as caught:
        fill_shell(command, {"item": "1"})
    assert str(caught.value) == f"{{item}}: {told}"


def test_what_is_after_such_a_place_can_be_filled_in():
    command = "cat <<'E'\nE\necho `echo \\$HOME`; echo $((1 + 2)) $[1] ${x/a/b} $$ \\$ ${{item}} {item}"
    assert list(unquotable(command)) == []
    assert fill_shell(command, {"item": "a"})[0].endswith(' ${item} "${FLEET_VALUE_1}"')


def test_a_value_that_is_used_twice_is_one_variable():
    assert fill_shell("cp {item.path} {item.n} {item.path}", VALUES) == (
        'cp "${FLEET_VALUE_1}" "${FLEET_VALUE_2}" "${FLEET_VALUE_1}"',
        {"FLEET_VALUE_1": "a b.txt", "FLEET_VALUE_2": "3"},
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("x" * (LONGEST_VARIABLE + 1), "it is longer than the 100000 bytes that a command can take"),
        ("é" * (LONGEST_VARIABLE // 2 + 1), "it is longer than the 100000 bytes that a command can take"),
        ("a\0b", "it has a NUL in it, which no command can take"),
        ("\ud800", "it is no text that a command can take"),
    ],
    ids=["long", "long in bytes", "nul", "no text"],
)
def test_a_value_that_a_command_cannot_take_is_refused(value, why):
    with pytest.raises(Missing) as caught:
        fill_shell("echo {item}", {"item": value})
    assert str(caught.value) == f"{{item}}: {why}"


def test_the_longest_value_and_bytes_that_are_no_text_are_taken():
    for value in ("x" * LONGEST_VARIABLE, "caf\udce9.txt"):
        assert fill_shell("echo {item}", {"item": value})[1] == {"FLEET_VALUE_1": value}
