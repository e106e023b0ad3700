"""Measurements that need no training."""
