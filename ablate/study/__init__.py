"""The statistics: from evidence to estimate to verdict."""
