import pytest

from attn_lib.plotting import latent_cache


def test_the_picture_looks_the_same_on_every_run():
    first = latent_cache(4, 2)._repr_mimebundle_()
    assert latent_cache(4, 2)._repr_mimebundle_() == first
    svg = first["image/svg+xml"]
    assert svg.count(">K 1, V 1</text>") == 2  # once in GQA, once in MLA
    assert svg.count(">K 3, V 3</text>") == 1


def test_the_text_alternative_says_what_is_kept():
    alt = repr(latent_cache(4, 2))
    assert "2 keys and 2 values are projected and kept" in alt
    assert "one latent vector c, which is kept" in alt


def test_value_error_names_expected_and_actual():
    with pytest.raises(ValueError, match=r"num_kv_heads to divide num_heads, got 3 and 4"):
        latent_cache(4, 3)
