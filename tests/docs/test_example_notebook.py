"""The notebook in examples/ runs from the first cell to the last, in a kernel of its own."""

from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parent.parent.parent / "examples" / "tour.ipynb"


def test_the_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    data = [output.data for output in outputs if output.output_type == "execute_result"]
    html = [each["text/html"] for each in data if "<table>" in each.get("text/html", "")]
    assert len(html) == 3  # a fit, a posterior, a page
    assert "straw hat" in html[0]
    charts = [each["image/svg+xml"] for each in data if "image/svg+xml" in each]
    assert len(charts) == 2
    assert "straw hat" in charts[0]
    assert list(tmp_path.iterdir()) == []
