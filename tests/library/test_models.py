"""Small whole models: the laws that they promise."""

import pytest
import torch
import torch.nn.functional as F

from attn_lib import (
    Forecaster,
    LanguageModel,
    LearnedPositions,
    RoPE,
    TextClassifier,
    WordsOverPatches,
    make_windows,
    masked_mean,
    next_token_loss,
    patchify,
)
from tests.library.test_positions import close
from tests.library.tools import sharpen

IDS = torch.randint(9, (2, 7), generator=torch.Generator().manual_seed(0))


def test_a_language_model_sees_the_past_only_and_has_the_usual_sizes():
    model = sharpen(LanguageModel(9, 16, 4, 2, positions=RoPE()))
    assert model.head.bias is None
    for other in (model, TextClassifier(9, 3, 16, 4, 1), Forecaster(4, 16, 2, 1)):
        assert other.blocks[0].ff[0].out_features == 64
    changed = IDS.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 9
    same = (model(IDS) - model(changed)).abs().amax((0, 2)) < 1e-6
    assert same.tolist() == [True] * 4 + [False] * 3


def test_cached_chunks_equal_the_full_forward():
    for positions in (RoPE(), LearnedPositions(7, 16)):
        model = sharpen(LanguageModel(9, 16, 4, 2, positions=positions))
        caches = model.new_caches(2, 7)
        with torch.no_grad():
            chunks = [model(part, caches=caches) for part in IDS.split((3, 1, 3), 1)]
            close(torch.cat(chunks, 1), model(IDS))


def test_writing_greedily_takes_the_likeliest_token_each_time():
    model = sharpen(LanguageModel(9, 16, 4, 2, positions=RoPE()))
    ids = model.write(IDS, 5, temperature=0)
    assert torch.equal(ids[:, :7], IDS)
    for place in range(7, 12):
        assert torch.equal(model(ids[:, :place])[:, -1].argmax(-1), ids[:, place])


def test_writing_draws_from_the_models_own_guess():
    model = sharpen(LanguageModel(9, 16, 4, 1, positions=RoPE()))
    start = IDS[:1].expand(4000, -1)
    texts = []
    for seed in (1, 2):  # the draws come from the generator alone
        torch.manual_seed(seed)
        texts.append(model.write(start, 1, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(*texts)
    drawn = texts[0][:, -1]
    shares = drawn.bincount(minlength=9) / 4000
    close(shares, model(IDS[:1])[0, -1].softmax(-1), 0.03)


def test_the_loss_counts_real_targets_only():
    logits = torch.randn(2, 4, 5, requires_grad=True)
    ids = torch.tensor([[1, 2, 3, 4], [2, 3, 0, 0]])
    shares = logits.log_softmax(-1)
    expected = -(shares[0, 0, 2] + shares[0, 1, 3] + shares[0, 2, 4] + shares[1, 0, 3]) / 4
    close(next_token_loss(logits, ids, 0), expected)
    nothing = next_token_loss(logits, torch.zeros(2, 4).long(), 0)
    nothing.backward()
    assert nothing == 0
    assert logits.grad.isfinite().all()


def test_the_mean_takes_no_padding_and_no_sentence_of_nothing_else():
    h = torch.tensor([[[1.0], [3.0], [torch.nan]], [[5.0], [7.0], [9.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert masked_mean(h, mask).tolist() == [[2.0], [0.0]]


def test_a_classifier_does_not_read_its_padding():
    model = sharpen(TextClassifier(9, 3, 16, 4, 2, positions=RoPE())).eval()
    mask = torch.arange(7) < torch.tensor([7, 4])[:, None]
    changed = IDS.where(mask, 8)
    close(model(IDS, mask), model(changed, mask))
    close(model(IDS, mask)[1], model(IDS[1:, :4], mask[1:, :4])[0])


def test_windows_hold_what_was_known_and_what_came_next():
    contexts, targets = make_windows(torch.arange(6.0), 3, 2)
    assert contexts.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert targets.tolist() == [[3, 4], [4, 5]]


def test_a_forecast_moves_with_the_level_of_the_series_and_grows_with_its_size():
    model = sharpen(Forecaster(4, 16, 2, 1, patch=2)).eval()
    past = torch.randn(3, 10, generator=torch.Generator().manual_seed(0))
    forecast, weights = model(past, return_weights=True)
    assert forecast.shape == (3, 4)
    assert weights.shape == (3, 2, 4, 5)
    close(model(10 * past + 5), 10 * forecast + 5, 1e-4)
    assert model(torch.full((1, 10), 3.0)).isfinite().all()
    with pytest.raises(ValueError, match=r"patches of 2 fill, got \(3, 9\)"):
        model(past[:, 1:])


def test_a_forecaster_reads_each_value_of_the_past_without_what_came_later():
    model = sharpen(Forecaster(2, 16, 2, 1)).eval()
    read = []
    model.norm.register_forward_hook(lambda _, __, x: read.append(x))
    for past in (
        [1.0, 4, 2, 7, 5],
        [1.0, 4, 7, 2, 5],
    ):  # of one spread, with one last value
        model(torch.tensor([past]))
    same = (read[0] - read[1]).abs().amax((0, 2)) < 1e-6
    assert same.tolist() == [True, True, False, False, False]


def test_a_forecast_is_in_spreads_of_the_past_above_its_last_value():
    model = Forecaster(2, 16, 2, 1)
    model.head.weight.data.zero_()
    model.head.bias.data.fill_(0.5)
    past = torch.tensor([[1.0, 3.0, 1.0, 3.0]])  # its spread is 1, its last value 3
    close(model(past), torch.tensor([[3.5, 3.5]]))


def test_patches_are_cut_row_by_row():
    image = torch.arange(2 * 4 * 6).view(1, 2, 4, 6)
    patches = patchify(image, 2)
    assert patches.shape == (1, 6, 8)
    assert patches[0, 1].tolist() == [2, 3, 8, 9, 26, 27, 32, 33]
    assert patches[0, 3].tolist() == image[0, :, 2:, :2].flatten().tolist()


def test_a_pair_is_scored_by_how_alike_each_word_and_what_it_found_are():
    model = sharpen(WordsOverPatches(9, 8, 16))
    patches = torch.randn(2, 6, 8)
    score, _ = model(IDS, patches)
    words = F.normalize(model.words(IDS), dim=-1)
    found = F.normalize(model.cross(model.words(IDS), model.patches(patches)), dim=-1)
    close(score, (words * found).sum(-1).mean(-1))


def test_all_pairs_are_scored_as_each_pair_is():
    model = sharpen(WordsOverPatches(9, 8, 16))
    patches = torch.randn(3, 6, 8)
    scores = model.all_pairs(IDS, patches) / model.log_temperature.exp()
    one, weights = model(IDS[1:], patches[2:])
    close(scores[1, 2], one[0])
    close(weights.sum(-1), torch.ones(1, 1, 7))
