"""Decide which code runs on the device of a tensor.

Some components have a fast path for CPUs, which reads numbers from tensors. On a GPU, such a read
would wait until all earlier kernels have finished.
"""

import torch


def uses_cpu_path(device: torch.device) -> bool:
    """Return whether code that is tuned for CPUs runs on this device.

    The result is False while `torch.compile` traces a model, because a read of a number would split
    the traced graph.
    """
    return device.type == "cpu" and not torch.compiler.is_compiling()
