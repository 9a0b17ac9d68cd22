"""Labels as users write them, to nodes and back: names, ids, paths, columns by level and class indices."""
