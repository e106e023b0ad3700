"""Measurements that need no training, for any experiment; ablate.claims.probe has those of one."""
