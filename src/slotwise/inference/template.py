"""Template: queries with the same positions that share their kappas, and the test of whether they may."""

import msgspec

DIFFERENT_KAPPAS = "the kappas differ between the queries"  # how the warning of a template begins
OTHER_KAPPAS = "the kappas of this query differ from those of the template"  # how the warning of a query begins


class KappaTest(msgspec.Struct, frozen=True):
    """A test of the hypothesis that queries have the same kappas."""

    statistic: float  # of a score test
    degrees: float  # degrees of freedom
    p_value: float  # the probability of a statistic at least as large if the kappas are the same
    size: float  # the root mean squared relative difference of the kappas, without noise


class Template(msgspec.Struct, frozen=True):
    """Queries with the same positions that were fitted with the same kappas."""

    queries: int  # how many
    linked: int  # how many of them have counts that alone would not separate theta and kappa
    test: KappaTest | None  # of all queries together; None if there are too few queries, positions or clicks
    differing: list[str]  # the names of the queries whose kappas differ from those of the template
    warnings: list[str]

    @property
    def different_kappas(self) -> bool:
        """Whether a warning says that the kappas differ between the queries."""
        return any(warning.startswith(DIFFERENT_KAPPAS) for warning in self.warnings)
