"""From rows to numbers: cells, statistics with their estimands, and rows read from other harnesses."""
