"""Methods over the atoms in use: orthogonal and blended pursuit."""
