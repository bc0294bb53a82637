"""Tests of templates."""
