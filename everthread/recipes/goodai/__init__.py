"""recipes.goodai."""
