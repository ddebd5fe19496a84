"""BERT with a slot for adapters: Hugging Face's own weights and layers, walked one by one.

A layer computes h_att = LN(h + SA(h)) and LN(h_att + FFN(h_att) + beside), where `beside` is what an adapter adds. With
nothing beside it this is Hugging Face's BertModel.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import BertModel
from transformers.models.bert.modeling_bert import BertLayer

from mtbert.encoder import attention
from mtbert.encoder.dropout import replace_dropout

Beside = Callable[[int, Tensor, Tensor], Tensor | None]  # (layer, hidden, mask) -> what to add


def layer_output(layer: BertLayer, hidden: Tensor, mask: Tensor, beside: Tensor | None) -> Tensor:
    """One BERT layer with something beside it; hidden, beside and result [rows, tokens, width]."""
    attended, _ = layer.attention(hidden, attention_mask=mask)
    output = layer.output
    deep = output.dropout(output.dense(layer.intermediate(attended)))
    summed = deep + attended if beside is None else deep + attended + beside
    return output.LayerNorm(summed)


class Encoder(nn.Module):
    """A BertModel whose layers can have something beside them."""

    def __init__(self, bert: BertModel, dropout: float | None = None, mask_token: int | None = None) -> None:
        super().__init__()
        self.mask_token = mask_token  # id of [MASK], where the tokenizer has one
        self.bert = bert
        self.bert.set_attn_implementation(attention.NAME)  # takes the same boolean mask as the adapters
        replace_dropout(bert, dropout)

    @property
    def width(self) -> int:
        """Hidden size."""
        return self.bert.config.hidden_size

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.bert.config.num_hidden_layers

    def words(self, input_ids: Tensor) -> Tensor:
        """Word embeddings alone, before positions, types and LayerNorm: [rows, tokens, width]."""
        return self.bert.embeddings.word_embeddings(input_ids)

    def forward(self, words: Tensor, token_types: Tensor, mask: Tensor, beside: Beside) -> Tensor:
        """Hidden states of the last layer.

        Shapes: words [rows, tokens, width], token_types and mask [rows, tokens], result [rows, tokens, width].
        """
        hidden = self.bert.embeddings(inputs_embeds=words, token_type_ids=token_types)
        kind = hidden.device.type
        if torch.is_autocast_enabled(kind):  # else what goes round the layers stays fp32, and is cast in each of them
            hidden = hidden.to(torch.get_autocast_dtype(kind))
        attend = mask.bool()[:, None, None, :]  # [rows, 1, 1, tokens]
        for number, layer in enumerate(self.bert.encoder.layer):
            hidden = layer_output(layer, hidden, attend, beside(number, hidden, attend))  # type: ignore[arg-type]
        return hidden.float()

    def parts(self) -> dict[str, list[nn.Parameter]]:
        """Its parameters by the names that `training.trainable` uses; parts may overlap."""
        layers = list(self.bert.encoder.layer)
        modules: dict[str, list[nn.Module]] = {
            "encoder": [self.bert],
            "embeddings": [self.bert.embeddings],
            "layers": layers,
            "attention": [layer.attention for layer in layers],  # type: ignore[misc]
            "feed_forward": [part for layer in layers for part in (layer.intermediate, layer.output.dense)],  # type: ignore[misc,union-attr]
            "output_norms": [layer.output.LayerNorm for layer in layers],  # type: ignore[misc,union-attr]
            "pooler": [self.bert.pooler] if self.bert.pooler is not None else [],
        }
        modules |= {f"layer_{number}": [layer] for number, layer in enumerate(layers, start=1)}
        return {name: [p for module in group for p in module.parameters()] for name, group in modules.items()}
