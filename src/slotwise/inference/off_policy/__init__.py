"""Off-policy evaluation: what another order or policy would have earned, estimated from a log with propensities."""
