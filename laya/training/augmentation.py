"""Vary training images by chance."""

import torch
from torch import Tensor, nn

AUGMENTATIONS = ("flip", "alternate", "shift", "cutout")


def augment(
    x: Tensor, names: tuple[str, ...], turned: Tensor | None = None, *, shift: int = 2, cutout: int = 12
) -> Tensor:
    """Vary images (B, C, H, W), each by its own draw from torch's global generator; the shape stays.

    Parameters
    ----------
    names : from AUGMENTATIONS.
    turned : (B,) which of them ``alternate`` mirrors, so that two epochs show both sides (arXiv 2404.00498).
    shift : pixels each way, at most; what comes in at the border is 0.
    cutout : edge in pixels of the square that becomes 0 (arXiv 1708.04552); at the border a part of it lies outside.
    """
    count, _, height, width = x.shape
    if "flip" in names:
        x = torch.where(torch.rand(count, 1, 1, 1) < 0.5, x.flip(-1), x)
    if "alternate" in names and turned is not None:
        x = torch.where(turned[:, None, None, None], x.flip(-1), x)
    if "shift" in names:
        padded = nn.functional.pad(x, (shift,) * 4)
        rows = torch.randint(2 * shift + 1, (count, 1)) + torch.arange(height)
        columns = torch.randint(2 * shift + 1, (count, 1)) + torch.arange(width)
        image = torch.arange(count)[:, None, None]
        x = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if "cutout" in names:
        rows, columns = (  # how far into the square each row and column lies
            torch.arange(size) - torch.randint(size, (count, 1)) + cutout // 2 for size in (height, width)
        )
        rows, columns = ((each >= 0) & (each < cutout) for each in (rows, columns))
        x = x.masked_fill((rows[:, :, None] & columns[:, None, :]).unsqueeze(1), 0)
    return x
