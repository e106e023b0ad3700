import pytest
import torch

from ablate.search import largest


@pytest.mark.parametrize("width", [3, 640, 8191])
@pytest.mark.parametrize("k", [1, 3])
def test_same_as_topk(width, k):
    values = torch.randn(37, width, generator=torch.Generator().manual_seed(width))
    top, column = largest(values[:, :], k)
    assert torch.equal(top, values.topk(k).values)
    assert torch.equal(values.gather(1, column), top)


def test_largest_entries_in_one_block_or_in_the_rest_are_found():
    values = torch.zeros(2, 1030)
    values[0, 65:70] = torch.tensor([1.0, 5.0, 4.0, 3.0, 2.0])
    values[1, 1025:] = torch.tensor([1.0, 5.0, 4.0, 3.0, 2.0])
    top, column = largest(values, 4)
    assert top.tolist() == [[5.0, 4.0, 3.0, 2.0]] * 2
    assert column.tolist() == [[66, 67, 68, 69], [1026, 1027, 1028, 1029]]
