from .pruning import level_costs as level_costs
from .pruning import level_model as level_model
from .subspaces import subspace_cosine as subspace_cosine
from .subspaces import subspace_dimensions as subspace_dimensions
from .subspaces import subspace_distance as subspace_distance
