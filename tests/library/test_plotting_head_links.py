import pytest

from attn_lib.plotting import head_links

GROUPS = {"GQA": [0, 0, 1, 1], "MQA": [0, 0, 0, 0]}


def test_links_look_the_same_on_every_run():
    first = head_links(GROUPS, (2, 1))._repr_mimebundle_()
    assert head_links(GROUPS, (2, 1))._repr_mimebundle_() == first
    for text in ("GQA", "MQA", "query", "K/V"):
        assert f">{text}</text>" in first["image/svg+xml"].replace("</tspan>", "</text>")


def test_the_text_alternative_says_who_reads_what():
    alt = repr(head_links(GROUPS, (2, 1)))
    assert "GQA: 0, 0, 1, 1 of 2; MQA: 0, 0, 0, 0 of 1" in alt


def test_one_num_kv_heads_serves_all_panels():
    assert "a: 0, 1 of 2; b: 1, 1 of 2" in repr(head_links({"a": [0, 1], "b": [1, 1]}, 2))


def test_value_error_names_expected_and_actual():
    with pytest.raises(ValueError, match=r"one num_kv_heads for each of 2 panels, got 1"):
        head_links(GROUPS, (2,))
    with pytest.raises(ValueError, match=r"MQA: expected K/V heads 0 to 1, got 3"):
        head_links({"MQA": [0, 3]}, 2)
