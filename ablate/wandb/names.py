"""What things are called in W&B: logged under these names, and found by them."""

STEP = "trainer/global_step"  # the name that Lightning's logger gives the step
RESULT = "result/"  # before every metric of the result; the name alone is the best over the run
ANALYSIS = "analysis"  # job type of the run that ends a sweep
EVIDENCE = "evidence"  # type of its artifact
LONGEST_NAME = 64  # of a tag or a job type
