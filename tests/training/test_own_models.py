"""Models of clients that have parameters of their own, as many as there are clients."""

import numpy as np

from simfl.training.personal import OwnModels, PersonalPart


def test_each_is_made_when_it_is_asked_for() -> None:
    """All at once, whole, took the memory of as many models where each has a small head."""
    places, initial = np.array([False, True, False]), np.zeros(1, dtype=np.float32)
    part = PersonalPart(places, initial, ("own",), ((1,),))
    own = {3: np.array([7], dtype=np.float32), 8: np.array([9], dtype=np.float32)}
    models = OwnModels(part, np.array([1, 0, 2], dtype=np.float32), own)
    assert {client: model.tolist() for client, model in models.items()} == {
        3: [1, 7, 2],
        8: [1, 9, 2],
    }
    assert 3 in models
    assert 4 not in models
    assert len(models) == 2
    assert models[3] is not models[3]
