"""Sources that are not text: sequences of feature vectors, such as audio frames or regions of an image.

A projection takes them to the size of an embedding. Convolutions before it may take several frames together: each
has a kernel of three frames and a stride of two, and halves the length.

Shapes as in seq2seq.py, and: E size of an embedding, C channels of a convolution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, final

from torch import Tensor, nn
from torch.nn import functional

from dragoman.errors import DataError
from dragoman.models.attention import within
from dragoman.models.linear import Linear
from dragoman.models.seq2seq import Vectors
from dragoman.settings import Meta, Settings

if TYPE_CHECKING:
    from dragoman.models.seq2seq import Source

__all__ = ["FeatureSettings", "FeatureSource"]


class FeatureSettings(Settings, frozen=True, kw_only=True):
    """A source of feature vectors."""

    size: Annotated[int, Meta(ge=1)]
    """Numbers in a feature vector."""
    halvings: Annotated[int, Meta(ge=0, le=6)] = 0
    """Convolutions before the projection, each of which halves the number of vectors; audio often takes two."""
    channels: Annotated[int, Meta(ge=1)] | None = None
    """Size of a vector between the convolutions; nothing means the size of an embedding."""


@final
class FeatureSource(nn.Module):
    """The vectors of a source of features."""

    def __init__(self, convolutions: list[nn.Conv1d], projection: nn.Linear) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(convolutions)
        self.projection = projection
        self.size = convolutions[0].in_channels if convolutions else projection.in_features

    @classmethod
    def of(cls, settings: FeatureSettings, size: int) -> FeatureSource:
        """Features as vectors of `size`."""
        channels = settings.channels or size
        sizes = [settings.size, *[channels] * settings.halvings]
        convolutions = [nn.Conv1d(below, channels, 3, stride=2, padding=1) for below in sizes[:-1]]
        return cls(convolutions, Linear(sizes[-1], size))

    def forward(self, source: Source) -> Vectors:
        """One vector for each frame, or for each few."""
        vectors_BSF, lengths_B = source.features_BSF, source.lengths_B
        assert vectors_BSF is not None, "a model of features reads feature vectors"
        if vectors_BSF.shape[-1] != self.size:
            raise DataError(
                f"feature vectors have {vectors_BSF.shape[-1]} numbers, the model expects {self.size}",
                place="source",
                remedy="Extract the features as they were extracted for training.",
            )
        for convolution in self.convolutions:
            vectors_BSF = functional.relu(convolution(_blank(vectors_BSF, lengths_B).transpose(1, 2))).transpose(1, 2)
            lengths_B = (lengths_B + 1) // 2
        return Vectors(self.projection(vectors_BSF), lengths_B)


def _blank(vectors_BSF: Tensor, lengths_B: Tensor) -> Tensor:
    """The vectors with zeros on padding, as beyond the sentence's end when it stands alone."""
    return vectors_BSF * within(lengths_B, vectors_BSF.shape[1]).unsqueeze(2)
