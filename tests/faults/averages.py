"""A callback of a user that averages weights, as some libraries do."""

import torch
from pytorch_lightning.callbacks import Callback


class Average(Callback):
    """Evaluates an average of the weights, which it swaps in for each evaluation."""

    def __init__(self, decay: float = 0.5):
        self.decay, self.step, self.average = decay, 0, {}

    def on_train_batch_end(self, trainer, pl_module, *rest):
        """Move the average towards the weights after every step."""
        if trainer.global_step == self.step:
            return
        self.step = trainer.global_step
        for name, value in pl_module.model.state_dict().items():
            mean = self.average.setdefault(name, value.clone())
            mean.mul_(self.decay).add_(value, alpha=1 - self.decay)

    def swap(self, trainer, pl_module):
        """Exchange the average and the weights of the model."""
        with torch.no_grad():
            for name, value in pl_module.model.state_dict().items():
                if name in self.average:
                    kept = value.clone()
                    value.copy_(self.average[name])
                    self.average[name] = kept

    on_validation_start = on_validation_end = on_test_start = on_test_end = swap

    def state_dict(self):
        """Return the average and its step."""
        return {"average": self.average, "step": self.step}

    def load_state_dict(self, state_dict):
        """Restore the average and its step."""
        self.average, self.step = state_dict["average"], state_dict["step"]
