"""Runs as evidence: their form, their seal, the registration of their study, the analysis log."""
