"""Run the cells of an experiment (each an arm with a seed): plan, check, train and judge them."""
