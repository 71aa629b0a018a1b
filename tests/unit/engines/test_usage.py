"""What engines write of the tokens they used, read piece by piece, and what it costs."""

import json
import os
from pathlib import Path

import pytest

from fleet.engines.kept import tokens
from fleet.engines.kept.prices import BUILT_IN, prices
from fleet.engines.kept.tokens import Position, SpentTokens, Tokens, read_new
from fleet.engines.kept.usage import files_of
from fleet.engines.reader import all_engines
from fleet.errors.given import BadSetting


def usage_of(name: str):
    found = all_engines("/nowhere")[name].usage
    assert found is not None
    return found


def claude(ident: str, output: int, *, read: int = 0, model: str = "claude-sonnet-4-5-20250929") -> str:
    used = {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": read}
    return json.dumps({"type": "assistant", "message": {"id": ident, "model": model, "usage": used}}) + "\n"


def codex(total: int, cached: int, output: int) -> str:
    tokens = {"input_tokens": total, "cached_input_tokens": cached, "output_tokens": output}
    return json.dumps({"type": "event_msg", "payload": {"info": {"total_token_usage": tokens}}}) + "\n"


def test_lines_of_one_answer_count_once_with_the_last_numbers(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"type": "user"}\nno json\n' + claude("a", 1) + claude("a", 7, read=5) + claude("b", 2))
    spent, after = read_new(usage_of("claude"), str(path), Position())
    model = "claude-sonnet-4-5-20250929"
    assert spent == [
        SpentTokens(model, Tokens(10, 1)),
        SpentTokens(model, Tokens(0, 6, 5)),
        SpentTokens(model, Tokens(10, 2)),
    ]
    assert read_new(usage_of("claude"), str(path), after) == ([], after)


def test_a_file_that_grows_is_read_from_where_it_was_left_and_a_half_line_waits(tmp_path):
    path = tmp_path / "c.jsonl"
    half = claude("a", 9)
    path.write_text(claude("a", 4) + half[:30])
    _spent, after = read_new(usage_of("claude"), str(path), Position())
    assert after.offset == len(claude("a", 4))
    path.write_text(claude("a", 4) + half)
    spent, _after = read_new(usage_of("claude"), str(path), after)
    assert [each.tokens for each in spent] == [Tokens(0, 5)]


def test_a_line_that_is_longer_than_a_piece_is_read_whole_and_does_not_stop_the_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_BYTES", 500)
    path = tmp_path / "c.jsonl"
    long = json.dumps({"type": "user", "text": "x" * 2_000}) + "\n"
    path.write_text(claude("a", 1) + long[:1_500])
    spent, after = read_new(usage_of("claude"), str(path), Position())
    assert (len(spent), after.offset) == (1, len(claude("a", 1)))
    assert read_new(usage_of("claude"), str(path), after) == ([], after), "the line is not whole yet"
    path.write_text(claude("a", 1) + long + claude("b", 2))
    spent, after = read_new(usage_of("claude"), str(path), after)
    assert (spent, after.offset) == ([], len(claude("a", 1) + long))
    spent, after = read_new(usage_of("claude"), str(path), after)
    assert [each.tokens for each in spent] == [Tokens(10, 2)]


def test_a_line_that_is_longer_than_any_line_of_an_engine_is_passed_over_with_what_follows_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "MOST_BYTES", 500)
    monkeypatch.setattr(tokens, "_LONGEST_LINE", 1_000)
    path = tmp_path / "c.jsonl"
    path.write_text(claude("a", 1))
    size = 1 << 40  # reading these zeros would take minutes
    os.truncate(path, size)
    spent, after = read_new(usage_of("claude"), str(path), Position())
    assert (len(spent), after.offset) == (1, len(claude("a", 1)))
    spent, after = read_new(usage_of("claude"), str(path), after)
    assert (spent, after.offset) == ([], size)
    assert read_new(usage_of("claude"), str(path), after) == ([], after)
    with path.open("a") as file:
        file.write(claude("b", 2))
    spent, after = read_new(usage_of("claude"), str(path), after)
    assert [each.tokens for each in spent] == [Tokens(10, 2)]


def test_a_pipe_in_the_place_of_a_file_is_refused_and_nobody_waits_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "c.jsonl")
    with pytest.raises(OSError, match=r"c\.jsonl"):
        read_new(usage_of("claude"), str(tmp_path / "c.jsonl"), Position())


def test_totals_that_grow_count_by_what_they_grew_and_the_cache_is_no_new_input(tmp_path):
    path = tmp_path / "rollout.jsonl"
    context = json.dumps({"type": "turn_context", "payload": {"model": "gpt-6-sol"}}) + "\n"
    none = json.dumps({"type": "event_msg", "payload": {"info": None}}) + "\n"
    path.write_text(context + none + codex(100, 40, 5) + codex(100, 40, 5) + codex(300, 200, 9))
    spent, _after = read_new(usage_of("codex"), str(path), Position())
    assert spent == [SpentTokens("gpt-6-sol", Tokens(60, 5, 40)), SpentTokens("gpt-6-sol", Tokens(40, 4, 160))]


def test_a_file_that_was_replaced_by_a_shorter_one_is_not_counted_again(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(claude("a", 1))
    assert read_new(usage_of("claude"), str(path), Position(offset=10_000)) == (
        [],
        Position(offset=path.stat().st_size),
    )


def test_the_files_of_a_conversation_are_found_with_those_of_its_sub_agents(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    for name in ("projects/-x/one.jsonl", "projects/-x/one/subagents/agent-1.jsonl", "projects/-x/two.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [Path(path).relative_to(tmp_path).as_posix() for path in files_of(usage_of("claude"), "one")]
    assert found == ["projects/-x/one.jsonl", "projects/-x/one/subagents/agent-1.jsonl"]


def test_a_file_to_which_a_link_leads_is_found_once(tmp_path, monkeypatch):
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "projects/-x").mkdir(parents=True)
    (real / "projects/-x/one.jsonl").touch()
    (real / "projects/-y").symlink_to("-x")
    link.symlink_to(real)
    found = []
    for place in (real, link):
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(place))
        found.append(files_of(usage_of("claude"), "one"))
    assert found == [[str((real / "projects/-x/one.jsonl").resolve())]] * 2


def test_a_price_holds_for_dated_names_and_not_for_other_models(tmp_path):
    listed = prices(str(tmp_path))
    known = listed.of("claude-sonnet-4-5")
    assert known is not None
    assert listed.of("claude-sonnet-4-5-20250929") == listed.of("anthropic/claude-sonnet-4-5[1m]") == known
    assert listed.of("claude-sonnet-4") is None
    assert listed.of("gpt-6-sol-mini") is None
    assert known.cost(Tokens(1_000_000, 1_000_000, 1_000_000, 1_000_000)) == 22_050_000


def test_a_long_prompt_has_its_own_price(tmp_path):
    price = prices(str(tmp_path)).of("claude-haiku-5-5")
    assert price is not None
    assert (price.cost(Tokens(100_000)), price.cost(Tokens(100_000, cache_read=100))) == (10_000, 50_005)


def test_a_persons_own_list_comes_first_and_says_where_it_is_wrong(tmp_path):
    own = tmp_path / "prices.toml"
    own.write_text("[mine]\ninput = 1\noutput = 2\ncache_read = 0\ncache_write = 0\n")
    price = prices(str(tmp_path)).of("mine")
    assert price is not None
    assert price.cost(Tokens(5, 5)) == 15
    own.write_text("[mine]\ninput = 1\noutput = -2\ncache_read = 0\ncache_write = 0\n")
    with pytest.raises(BadSetting, match=r"prices.toml:3"):
        prices(str(tmp_path))


def test_the_list_says_where_its_prices_are_from():
    head = Path(BUILT_IN).read_text().partition("[")[0]
    assert "2026" in head
    assert head.count("https://") == 3
