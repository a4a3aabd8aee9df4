"""How does a fitted model become a file, and a file a model again? Arrays and JSON in one zip; nothing in it is run.

Imports estimators, errors and libraries. Begin reading at ``model_file.py`` (`save` and `load`), then ``archive.py``
(the zip, and what is refused) and ``values.py`` (parameters and learnt attributes as JSON). ``models.py`` lists what
can be saved; ``atomic.py`` writes files whole or not at all.
"""

from fedmpca.storage.atomic import check_folder, check_writable, write_whole
from fedmpca.storage.model_file import load, save

__all__ = ["check_folder", "check_writable", "load", "save", "write_whole"]
