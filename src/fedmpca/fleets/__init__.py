"""What does an organisation know about its assets, and where does it lie? Streams, lives, ages, and files.

A :class:`Fleet` is a value: streams kept as they were given, and a table of what is known about each asset, checked
once when it is made. ``load_fleet`` and ``save_fleet`` are its way from and to disk; streams on disk are read a block
of assets at a time. The room imports ``fedmpca.errors`` and libraries only. Begin reading at ``fleet.py``; then
``lazy.py`` (how a block is read), ``choosing.py`` and ``grid.py`` (which assets, which ages), ``checks.py`` and
``columns.py`` (what is refused), ``files.py`` with ``table.py`` (the folder), ``formats.py`` with ``npy.py``,
``images.py`` and ``opening.py`` (the files), ``notebook.py`` (the view in a notebook).
"""

from fedmpca.fleets.files import load_fleet, save_fleet
from fedmpca.fleets.fleet import Fleet

__all__ = ["Fleet", "load_fleet", "save_fleet"]
