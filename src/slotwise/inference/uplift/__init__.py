"""Uplift: how much more one variant of a page earns per display than another, with always-valid intervals."""
