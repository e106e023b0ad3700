"""Keys and length limits of names in W&B, used for logging and for loading."""

STEP = "trainer/global_step"  # name of the step in Lightning's logger
ANALYSIS = "analysis"  # job type of the analysis run of a sweep
EVIDENCE = "evidence"  # type of the artifact of the analysis run
LONGEST_NAME = 64  # maximum length of a tag or a job type
LONGEST_TITLE = 128  # maximum length of a run's title
LOGGER = "ablate.wandb.logger.WandbRun"  # target of logger=wandb in a config
