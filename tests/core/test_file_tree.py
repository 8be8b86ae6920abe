"""What lies below a folder."""

from pathlib import Path

from simfl.core.file_tree import files_below, tree_version


def test_files_come_in_order_and_through_links_once(tmp_path: Path) -> None:
    for name in ("b", "a/2", "a/10", "c/d/1"):
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).write_text(name)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "3").write_text("3")
    (tmp_path / "top" / "c" / "link").symlink_to(tmp_path / "beside")
    (tmp_path / "top" / "c" / "round").symlink_to(tmp_path / "top")
    (tmp_path / "top" / "lost").symlink_to(tmp_path / "nowhere")
    found = [name for name, _ in files_below(tmp_path / "top")]
    assert found == ["a/10", "a/2", "b", "c/d/1", "c/link/3"]
    before = tree_version(tmp_path / "top")
    assert before == tree_version(tmp_path / "top")
    (tmp_path / "beside" / "3").write_text("33")
    assert before != tree_version(tmp_path / "top")
