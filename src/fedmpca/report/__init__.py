"""What does a person see? Figures of models and fleets, each panel with a sentence that says what to see in it.

Imports estimators, fleets and errors. Figures are values (`matplotlib.figure.Figure`) that touch no global state of
matplotlib: save them with ``figure.savefig``. Begin reading at ``figures.py``; ``panels.py`` draws the single panels,
``labels.py`` says numbers and assets in words, and ``style.py`` has the colours that all of them share.
"""

from fedmpca.report.figures import mpca_figure

__all__ = ["mpca_figure"]
