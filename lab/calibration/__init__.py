"""How often the study engine errs, measured on simulated sweeps."""
