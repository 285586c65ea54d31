"""Studies: the bytes of the command line, progress, frames."""

from __future__ import annotations

import filecmp
import pickle
import subprocess
from pathlib import Path

import cbwk
import numpy as np
import pytest

SMALL = {
    "study": {"name": "small", "horizon": 6, "episodes": 12, "replications": 3, "seed": 5},
    "budget": {"kind": "cycle", "values": [2, 4]},
    "application": {"kind": "pricing", "prices": [1.0, 2.0, 3.0]},
    "contexts": {"kind": "box", "low": [0.0, 0.0], "high": [1.0, 1.0]},
    "conversion": {"kind": "logistic", "weights": [1.0, 0.5, -0.7]},
    "policies": [{"kind": "tight-opt-dp"}, {"kind": "square-cbwk"}, {"kind": "clairvoyant"}],
}
FILES = ["episodes.csv", "summary.csv", "steps.csv", "actions.csv", "regret.svg", "study.toml"]


def same_files(one: Path, other: Path) -> None:
    equal, different, missing = filecmp.cmpfiles(one, other, FILES, shallow=False)
    assert (different, missing) == ([], []) and len(equal) == len(FILES)


def simulate(program: str, *arguments: str) -> None:
    subprocess.run([program, "simulate", "--quiet", *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("preset", ["paper-auction", "rush-hour-pricing"])
def test_a_preset_gives_the_bytes_of_the_command_line(program, tmp_path, preset):
    simulate(program, "--preset", preset, "--replications", "4", "--out", str(tmp_path / "program"))
    results = cbwk.Study.preset(preset).run(replications=4, out=tmp_path / "package")
    same_files(tmp_path / "program", tmp_path / "package")
    results.save(tmp_path / "saved")
    same_files(tmp_path / "program", tmp_path / "saved")
    loaded = cbwk.Results.load(tmp_path / "program")
    loaded.save(tmp_path / "again")
    same_files(tmp_path / "program", tmp_path / "again")
    for table in ("episodes", "summary"):
        ours, theirs = getattr(results, table), getattr(loaded, table)
        assert list(ours) == list(theirs)
        assert all(np.array_equal(ours[c], theirs[c], equal_nan=ours[c].dtype.kind == "f") for c in ours)


def test_a_dictionary_is_a_study_file(program, tmp_path):
    study = cbwk.Study.from_dict(SMALL)
    file = tmp_path / "study.toml"
    file.write_text(study.to_toml())
    simulate(program, str(file), "--out", str(tmp_path / "program"))
    study.run(out=tmp_path / "package")
    same_files(tmp_path / "program", tmp_path / "package")


def test_data_files_travel_with_the_results(tmp_path):
    rows = ["episode,step,x"] + [f"{e},{h},{(e * h) % 5 / 4}" for e in range(1, 9) for h in range(1, 7)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    table = {**SMALL, "contexts": {"kind": "file", "path": tmp_path / "rows.csv"}}
    table["conversion"] = {"kind": "armed", "probabilities": [0.8, 0.5, 0.2]}
    results = cbwk.Study.from_dict(table).run()
    results.save(tmp_path / "saved")
    assert (tmp_path / "saved" / "data" / "rows.csv").exists()
    again = cbwk.Study.from_file(tmp_path / "saved" / "study.toml").run()
    assert np.array_equal(again.episodes["reward"], results.episodes["reward"])


def test_threads_and_pickling_change_nothing():
    study = cbwk.Study.from_dict(SMALL)
    expected = study.run(threads=1).episodes
    for other in (study.run(threads=3), pickle.loads(pickle.dumps(study)).run()):
        assert all(np.array_equal(expected[c], other.episodes[c], equal_nan=c in ("expected_regret", "played_widths", "played_tolerance")) for c in expected)


def test_columns_are_those_of_the_files(tmp_path):
    results = cbwk.Study.from_dict(SMALL).run(out=tmp_path / "out")
    for table in ("episodes", "summary"):
        columns = getattr(results, table)
        header = (tmp_path / "out" / f"{table}.csv").read_text().splitlines()[0]
        assert header.split(",") == list(columns)
    episodes = results.episodes
    assert len(episodes["policy"]) == 3 * 3 * 12
    assert set(episodes["b_t"]) == {2, 4}
    np.testing.assert_allclose(episodes["regret"], episodes["opt"] - episodes["reward"])
    with pytest.raises(ValueError, match="read-only"):
        episodes["reward"][0] = 1


def test_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    results = cbwk.Study.from_dict(SMALL).run()
    frame = results.to_pandas()
    means = frame.groupby("policy").regret.sum() / 3
    assert means.to_dict() == pytest.approx(results.final_regret())
    assert isinstance(frame, pandas.DataFrame)
    assert results.to_polars("summary").shape == (3 * 12, 6) and polars is not None


def test_the_page_shows_table_and_picture():
    page = cbwk.Study.from_dict(SMALL).run()._repr_html_()
    assert page.count("<tr>") == 4 and "<svg" in page and "tight-opt-dp" in page
    assert "<script" not in page


def test_chosen_added_and_renamed_policies():
    study = cbwk.Study.from_dict(SMALL)
    added = {"kind": "tight-opt-dp", "name": "eager", "alpha": 0.25}
    results = study.run(replications=1, policies=["clairvoyant", "random", added])
    assert results.policies == ["clairvoyant", "random", "eager"]
    assert 'name = "eager"' in results.study


def test_progress_is_told():
    told: list[tuple[int, int]] = []
    cbwk.Study.from_dict(SMALL).run(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (108, 108) and sorted(told) == told


def test_a_mistake_in_progress_ends_the_study():
    with pytest.raises(ZeroDivisionError):
        cbwk.Study.from_dict(SMALL).run(progress=lambda done, total: 1 / 0)


def test_an_occupied_folder_is_refused(tmp_path):
    study = cbwk.Study.from_dict(SMALL)
    study.run(out=tmp_path / "out")
    with pytest.raises(ValueError, match="already holds results"):
        study.run(out=tmp_path / "out")
