"""What is computed: tensors and subspaces, as pure functions that know no parties, files or threads.

Imports nothing of the package but its errors. Begin reading at ``tensors``; ``pieces`` says how large data are cut,
``subspaces`` what is done with a scatter.
"""
