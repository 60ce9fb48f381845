"""Dictionaries learned from signals, and what they are learned for."""

from pursuit.learning.door import learn
from pursuit.learning.learned import Learned

__all__ = ["Learned", "learn"]
