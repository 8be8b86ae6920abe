"""What `simfl partition` says and draws."""

import numpy as np
import pytest

from simfl.core.labels import label_counts
from simfl.report.partition import picture, summary
from tests.dealt import DEALT, LABELS


def test_summary_tells_sizes_labels_and_skew():
    text = summary(label_counts(DEALT, LABELS, 3))
    assert text.splitlines()[0] == "3 clients, 5 samples, 3 classes"
    assert text.splitlines()[2].split() == ["samples", "0.0", "2.0", "1.7", "3.0", "1.2"]
    assert summary(np.full((2, 3), 400)).startswith("2 clients, 2,400 samples, 3 classes\n")
    assert "no samples" in summary(np.zeros((2, 3), dtype=np.int64))


@pytest.mark.parametrize("classes", [1, 3, 90])
def test_the_picture_shows_every_label_of_every_client(classes, tmp_path):
    counts = np.arange(5 * classes).reshape(5, classes)
    figure = picture(counts, "a partition")
    axes = figure.axes[0]
    assert len(axes.collections) == classes
    last = axes.collections[-1].get_paths()
    tops = [np.asarray(path.vertices)[:, 1].max() for path in last]
    assert tops == counts.sum(axis=1).tolist()
    figure.savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000
