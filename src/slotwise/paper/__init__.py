"""The paper's settings, experiments and claims, as data."""
