"""What things are called in W&B: logged under these names, and found by them."""

STEP = "trainer/global_step"  # the name that Lightning's logger gives the step
# before every metric of the result; the name alone is, of a curve, the best over the run
RESULT = "result/"
ANALYSIS = "analysis"  # job type of the run that ends a sweep
EVIDENCE = "evidence"  # type of its artifact
LONGEST_NAME = 64  # of a tag or a job type
LONGEST_TITLE = 128  # of the name that a run is shown by
LOGGER = "ablate.wandb.logger.WandbRun"  # what a config names for logger=wandb
