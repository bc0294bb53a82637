"""The sample page of the demo and its visitors."""

from pathlib import Path

SHOP = Path(__file__).parent / "shop.toml"
VISITORS = Path(__file__).parent / "visitors.json"
