"""Between encoder and heads: every connector is one line here and one file beside this one."""

from collections.abc import Sequence

from mtbert.models.connectors import relational, transformer_layer
from mtbert.models.connectors.base import Connector
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

CONNECTORS: Registry[[int, Sequence[str]], Connector] = Registry(
    "connector",
    {
        "direct": Technique(NoOptions, Connector),  # changes nothing
        "relational": Technique(relational.Settings, relational.Relational),
        "transformer_layer": Technique(transformer_layer.Settings, transformer_layer.TransformerLayer),
    },
    default="direct",
)
