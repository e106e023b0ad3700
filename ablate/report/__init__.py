"""From a verdict to a page with figures."""
