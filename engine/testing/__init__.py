"""Finds the mistakes in custom autograd Functions, engine's and torch's, and in Value classes."""

from engine.testing.checking import check
from engine.testing.report import Finding, Level, Report
from engine.testing.value_class import check_value_class

__all__ = ["Finding", "Level", "Report", "check", "check_value_class"]
