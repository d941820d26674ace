"""Pairs whose tokens differ are refused, however alike their sizes are."""

import pytest
from small_models import merge_rules, tokenizer

from labkit import zoo
from labkit.zoo.vocabulary import check_same_family, tokenizer_difference

RULES = merge_rules()


def loaded(name, words, vocab_size=None):
    """A model of the kit with a tokenizer of one's own."""
    model = zoo.load(name, "random", device="cpu").model
    if vocab_size is not None:
        model.resize_token_embeddings(vocab_size, mean_resizing=False)
    return zoo.LoadedModel(name, model, words, "random", "cpu", "float32")


def test_equal_tokenizers_make_a_pair():
    assert tokenizer_difference(tokenizer(), tokenizer()) is None
    zoo.Pair(loaded("tiny-target", tokenizer()), loaded("tiny-draft", tokenizer()))


def test_equal_sizes_with_other_tokens_are_refused():
    other = tokenizer(merge_rules("zyxwvutsrqponmlkjihgfedcba"))
    assert len(other) == len(tokenizer())
    with pytest.raises(ValueError, match=r"4,096 and 4,096 tokens\): .* is number \d+ in the one"):
        zoo.Pair(loaded("tiny-target", tokenizer()), loaded("tiny-draft", other))


def test_a_token_that_only_one_has_is_named():
    fewer = tokenizer(RULES[:-1])
    message = tokenizer_difference(tokenizer(), fewer)
    assert "(4,096 and 4,095 tokens)" in message
    assert f"{''.join(RULES[-1])!r} is number 4095 in the one, no token in the other" in message


def test_the_same_tokens_by_other_merge_rules_are_refused():
    swapped = [RULES[1], RULES[0], *RULES[2:]]
    other = tokenizer(swapped)
    assert other.get_vocab() == tokenizer().get_vocab()
    with pytest.raises(ValueError, match=r"cut text differently: merge rule 0 is \['a', 'a'\]"):
        zoo.Pair(loaded("tiny-target", tokenizer()), loaded("tiny-draft", other))


def test_the_same_rules_after_another_preparation_are_refused():
    message = tokenizer_difference(tokenizer(), tokenizer(prefix_space=True))
    assert "prepare text differently: piece" in message


def test_logits_of_different_widths_are_refused():
    words = tokenizer()
    with pytest.raises(ValueError, match="logits have 4,096 and 4,160 columns"):
        zoo.Pair(loaded("tiny-target", words), loaded("tiny-draft", words, vocab_size=4160))


def test_without_tokenizers_the_facts_decide():
    check_same_family("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B")
    check_same_family("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B")
    check_same_family("a folder", "gpt2")  # nothing is known of it
    with pytest.raises(ValueError, match="llama3 of the one and llama2 of the other"):
        check_same_family("meta-llama/Llama-3.2-1B", "meta-llama/Llama-2-7b-hf")
    pair = zoo.Pair(loaded("tiny-target", None), loaded("tiny-draft", tokenizer()))
    assert pair.target.tokenizer is None
