"""The aggregation: rows to cells to tables of numbers."""

from orchestrator.analysis.quick import QuickRow, quick_table

__all__ = ["QuickRow", "quick_table"]
