"""Sounds and other long signals taken apart into Gabor atoms, listed in a book."""

from pursuit.decomposing.book import Book
from pursuit.decomposing.decomposition import decompose

__all__ = ["Book", "decompose"]
