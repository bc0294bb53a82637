"""Rejected connections are counted by reason, and logged once a minute."""

import logging

import pytest

from slotwise.service.http.rejections import QUIET_SECONDS, Rejections
from slotwise.service.metrics import Metrics


def test_each_reason_has_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    metrics, now = Metrics(), [1000.0]
    rejections = Rejections(metrics, lambda: now[0])
    with caplog.at_level(logging.WARNING, "slotwise.requests"):
        for _ in range(5):
            rejections.count("400", "the request is not valid HTTP/1.1")
        rejections.count("tls", "the TLS handshake failed: http request")
        now[0] += QUIET_SECONDS
        rejections.count("400", "the request is not valid HTTP/1.1")
    assert [record.fields for record in caplog.records] == [  # type: ignore[attr-defined]
        {"reason": "400"},
        {"reason": "tls"},
        {"reason": "400", "omitted": 4},
    ]
    counts = [
        metrics.registry.get_sample_value("slotwise_rejected_connections_total", {"reason": r}) for r in ("400", "tls")
    ]
    assert counts == [6.0, 1.0]
