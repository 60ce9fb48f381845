"""Pictures: .png and whatever else Pillow, or for 16 bits in colours rasterio, reads and writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pursuit.base.archive import whole_file
from pursuit.base.errors import InputError, MissingExtra
from pursuit.base.memory import check_memory
from pursuit.base.validation import Array
from pursuit.files.arrays import existing_file, reading

PNG = b"\x89PNG\r\n\x1a\n"
GREY_ALPHA, COLOUR, COLOUR_ALPHA = 4, 2, 6
"""Kinds of a PNG file that Pillow reads with 8 bits, whatever it has."""
MOST_PIXELS = 10**9
DEEP = {"PNG": "PNG", "TIFF": "GTiff"}
"""Kinds that are written with 16 bits, and what rasterio calls them."""


@dataclass(frozen=True)
class Picture:
    """Pixels from 0 to 1: (h, w) grey or (h, w, 3) in colours; `alpha` (h, w) is opacity."""

    pixels: Array
    alpha: Array | None
    bits: int

    def with_pixels(self, pixels: Array) -> Picture:
        """The same with other pixels, those out of range at its ends."""
        return replace(self, pixels=np.clip(pixels, 0, 1))


def read_picture(path: Path) -> Picture:
    """The picture in a file."""
    file = existing_file(path)
    if _is_deep(file):
        return _read_deep(file)
    image_module = _pillow()
    from PIL import ImageOps

    with reading(file), _without_limit(image_module), image_module.open(file) as opened:
        _check_size(file, opened.size, len(opened.getbands()))
        image = ImageOps.exif_transpose(opened)
        deep = image.mode.startswith("I;16") or (image.mode == "I" and opened.format == "PNG")
        if image.mode in ("I", "F") and not deep:
            raise InputError(f"{file}: expected a picture of 8 or 16 bits, got one of 32")
        image = image if deep else image.convert(_plain_mode(image))
        values = np.asarray(image)
    if deep:
        return Picture(values / 65535, None, 16)
    return _apart(values / 255, 8)


@contextmanager
def _without_limit(image_module: Any) -> Iterator[None]:
    """Let Pillow open pictures of any size, which `_check_size` then looks at."""
    limit, image_module.MAX_IMAGE_PIXELS = image_module.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        image_module.MAX_IMAGE_PIXELS = limit


def _check_size(file: Path, size: tuple[int, int], channels: int) -> None:
    """Refuse, before it is decoded, what is above a gigapixel or does not fit in memory."""
    width, height = size
    if width * height > MOST_PIXELS:
        raise InputError(
            f"{file}: must have at most {MOST_PIXELS:,} pixels, got {width:,} × {height:,}"
        )
    check_memory(file, 9 * channels * width * height)  # as bytes and as float64


def write_picture(path: Path, picture: Picture) -> None:
    """Write to a file whose kind its name says, whole or not at all."""
    kind = kind_of(path)
    top = 65535 if picture.bits == 16 and kind in DEEP else 255
    values = np.rint(_together(picture) * top).astype(np.uint16 if top > 255 else np.uint8)
    with whole_file(path) as part, reading(path):
        if top > 255 and values.ndim == 3:
            _write_deep(part, values, DEEP[kind])
        else:
            image: Any = _pillow().fromarray(values)
            flat = kind in ("JPEG", "BMP") and image.mode in ("RGBA", "LA")
            image = image.convert("RGB" if image.mode == "RGBA" else "L") if flat else image
            image.save(part, kind)


def kind_of(path: Path) -> str:
    """The kind of picture that the name of a file says."""
    kinds: dict[str, str] = _pillow().registered_extensions()
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path}: expected a name that ends in .png, or as another picture's does")
    return kind


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("plot", "reading and writing pictures") from None
    Image.init()
    return Image


def _plain_mode(image: Any) -> str:
    """Grey or colours, with opacity where there is any."""
    see_through = image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info
    if image.mode in ("1", "L", "LA", "La"):
        return "LA" if see_through else "L"
    return "RGBA" if see_through else "RGB"


def _apart(values: Array, bits: int) -> Picture:
    """Pixels and opacity of (h, w) or (h, w, channels)."""
    if values.ndim == 2:
        return Picture(values, None, bits)
    pixels, rest = (
        (values[..., :3], values[..., 3:])
        if values.shape[2] > 2
        else (
            values[..., 0],
            values[..., 1:],
        )
    )
    return Picture(pixels, rest[..., 0] if rest.shape[2] else None, bits)


def _together(picture: Picture) -> Array:
    if picture.alpha is None:
        return picture.pixels
    pixels = picture.pixels.reshape(*picture.alpha.shape, -1)
    return np.concatenate([pixels, picture.alpha[..., None]], axis=2)


# 16 bits in colours ----------------------------------------------------------------------------


def _is_deep(file: Path) -> bool:
    """Whether a PNG file has 16 bits and several channels."""
    with reading(file), file.open("rb") as stream:
        head = stream.read(26)
    several = (GREY_ALPHA, COLOUR, COLOUR_ALPHA)
    return head.startswith(PNG) and len(head) == 26 and head[24] == 16 and head[25] in several


def _rasterio() -> Any:
    try:
        import rasterio
    except ImportError:
        raise MissingExtra("scenes", "a picture of 16 bits in colours") from None
    return rasterio


def _read_deep(file: Path) -> Picture:
    rasterio = _rasterio()
    with reading(file), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a photograph has no place on a map
        with rasterio.open(file) as opened:
            _check_size(file, (opened.width, opened.height), opened.count)
            values = np.moveaxis(opened.read(), 0, 2)
    return _apart(values / 65535, 16)


def _write_deep(path: Path, values: Array, driver: str) -> None:
    rasterio = _rasterio()
    height, width, count = values.shape
    about = {"width": width, "height": height, "count": count, "dtype": "uint16"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(path, "w", driver=driver, **about) as opened:
            opened.write(np.moveaxis(values, 2, 0))
