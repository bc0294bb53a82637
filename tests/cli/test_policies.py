"""`slotwise policies`."""


def test_the_table_has_every_policy_with_its_settings(slotwise) -> None:
    result = slotwise("policies")
    assert result.exit_code == 0
    assert all(word in result.stdout for word in ("pb_mhb", "uniform", "oracle", "width=100.0", "start=warm"))


def test_json(slotwise) -> None:
    rows = {row["name"]: row for row in slotwise("policies", "--json").json()}
    assert rows["pb_mhb"]["params"] == {"width": 100.0, "sweeps": 1, "start": "warm", "reference": "first"}
