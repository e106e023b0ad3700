"""Measures of trained models for single experiments."""
