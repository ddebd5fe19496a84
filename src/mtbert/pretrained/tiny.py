"""A small untrained BERT with a vocabulary from the data: runs this whole project in minutes, without a download."""

from collections import Counter
from collections.abc import Iterable, Iterator

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, BertTokenizer

from mtbert import seeding
from mtbert.pretrained.settings import EncoderSettings

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ALPHABET = 300  # most characters in the vocabulary; words with rarer ones become [UNK] or pieces
SPREAD = 0.07  # standard deviation of the untrained weights
SEED = 1  # of these
MINIMUM_COUNT = 2  # how often a piece must occur

_lower = normalizers.BertNormalizer(lowercase=True)
_words = pre_tokenizers.BertPreTokenizer()


def vocabulary(sentences: Iterable[str], size: int) -> list[str]:
    """Make a lower-case WordPiece vocabulary of at most `size` pieces from sentences; a piece's index is its id.

    The same sentences give the same list. The trainer alone does not: it numbers continuations (`##e`) in the order
    of a randomly seeded hash table, and breaks ties by those numbers. So it gets them in a fixed order.
    """
    words_of = [_split(text) for text in sentences]
    counts = Counter[str]()
    for words in words_of:
        counts.update("".join(words))
    by_count = sorted(counts, key=lambda character: (-counts[character], character))
    alphabet = sorted(by_count[:ALPHABET])
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=MINIMUM_COUNT,
        special_tokens=[*SPECIAL, *(f"##{character}" for character in alphabet)],
        show_progress=False,
    )
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(_spelled_in(alphabet, words_of), trainer)
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def _split(text: str) -> list[str]:
    """Return a text's words in lower case."""
    return [word for word, _ in _words.pre_tokenize_str(_lower.normalize_str(text))]


def _spelled_in(alphabet: Iterable[str], sentences: Iterable[list[str]]) -> Iterator[str]:
    """Yield sentences without the words that have a character outside the alphabet."""
    characters = set(alphabet)
    for words in sentences:
        yield " ".join(word for word in words if characters.issuperset(word))


def tokenizer(pieces: list[str]) -> Tokenizer:
    """Return BERT's lower-case tokenizer over a vocabulary."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    return BertTokenizer(vocab=ids, do_lower_case=True).backend_tokenizer


def model(settings: EncoderSettings, vocabulary_size: int) -> BertModel:
    """Make an untrained BERT with a pooler; its weights come from generator `encoder/weights` of SEED."""
    config = BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=settings.width,
        num_hidden_layers=settings.known_layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.feed_forward,
        max_position_embeddings=settings.positions,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=SPREAD,
    )
    with torch.random.fork_rng(devices=[]):  # of the global generator, from which transformers draws
        torch.manual_seed(seeding.derive(SEED, "encoder", "weights"))
        return _matching(BertModel(config))


@torch.no_grad()
def _matching(bert: BertModel) -> BertModel:
    """Start attention where equal words attend to each other; everything trains freely from there.

    A BERT has learnt to compare the words of two sentences long before fine-tuning. From plain random weights a small
    one does not learn it within some hundred steps (measured on the sample: pairs stay at the majority). So it starts
    with it: queries equal keys, and positions weigh little against words.
    """
    for layer in bert.encoder.layer:
        attention = layer.attention.self  # type: ignore[union-attr]
        attention.key.weight.copy_(attention.query.weight)  # type: ignore[union-attr]
    bert.embeddings.position_embeddings.weight.mul_(0.1)
    bert.embeddings.token_type_embeddings.weight.mul_(0.5)
    return bert
