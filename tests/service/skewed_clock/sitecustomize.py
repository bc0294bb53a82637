"""Python imports this at its start if the folder is in PYTHONPATH: the clock is wrong by SLOTWISE_TEST_SKEW seconds."""

import os
import time

_skew, _right, _right_ns = float(os.environ["SLOTWISE_TEST_SKEW"]), time.time, time.time_ns
time.time = lambda: _right() + _skew
time.time_ns = lambda: _right_ns() + int(_skew * 1e9)
