"""Write reports: a verdict as a page with figures."""
