"""`simfl run`: what is run, and what it prints."""

import json
import re
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.scenario import Scenario
from tests.cli.commanded import FILES, SCENARIO, VARIANTS, run
from tests.run_folders import files


class TestOutput:
    def test_table_and_folders(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file.write_text(SCENARIO + VARIANTS)
        run(file, "--out", "o")
        out, err = capsys.readouterr()
        header = next(line for line in out.splitlines() if "variant" in line).split()
        assert header[0] == "variant"
        assert {"waits", "drops"} <= set(out.split())
        assert f"  {Path('o') / 'drops' / 'seed-0'}" in out.splitlines()
        assert out.splitlines()[-1] == f"Report: {Path('o') / 'report.html'}"
        # Progress goes to stderr, so that the table can be piped.
        assert "waits seed 0: " in err
        assert "round 3/3" in err
        assert "virtual" not in out
        assert "never computed" not in out  # nothing was

    def test_results_are_shown_though_their_page_can_not_be_written(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No input is wrong, and nothing needs to be run again."""
        file.write_text(SCENARIO + VARIANTS)
        (Path("o") / "report.html").mkdir(parents=True)
        assert main(["run", str(file), "--out", "o"]) == 1
        out, err = capsys.readouterr()
        assert {"waits", "drops"} <= set(out.split())
        assert "the runs are done; once that is mended, `simfl report o` tells" in err

    def test_many_folders_do_not_push_the_table_away(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(file, "--out", "o", "--seeds", "0-20", "--set", "rounds.stop.rounds=1", "--no-report")
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == "Run folders: 21 below o"

    def test_rounds_that_ran_short_are_told(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file.write_text(SCENARIO + VARIANTS)
        rare = "fleet.availability={name: on_off, on: 30 s, off: 10 min}"
        run(file, "--set", rare, "--set", "rounds.min_clients=1", "--seeds", "0-1")
        told = [line for line in capsys.readouterr().out.splitlines() if "fewer clients" in line]
        assert {line.split(":")[0] for line in told} == {"waits", "drops"}
        for line in told:
            variant, rest = line.split(": ")
            summaries = [
                json.loads(Path(f"runs/commanded/{variant}/seed-{seed}/summary.json").read_text())
                for seed in (0, 1)
            ]
            short = sum(summary["short_rounds"] for summary in summaries)
            assert short > 0
            assert rest.startswith(f"{short} of 6 rounds had fewer clients")

    def test_default_folder(self, file: Path) -> None:
        run(file, "--quiet")
        folder = Path("runs/commanded/default/seed-0")
        assert set(files(folder)) == FILES

    def test_quiet_prints_nothing(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run(file, "--quiet", "--out", "o")
        assert capsys.readouterr() == ("", "")
        assert Path("o/default/seed-0/report.html").exists()

    def test_json_is_nothing_but_json(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run(file, "--json", "--out", "o", "--seeds", "0-1")
        out, err = capsys.readouterr()
        assert err == ""
        found = json.loads(out)
        assert [one["folder"] for one in found] == [f"o/default/seed-{s}" for s in (0, 1)]
        for one in found:
            summary = json.loads((Path(one.pop("folder")) / "summary.json").read_text())
            assert one == {"variant": "default", **summary}
        assert found[0]["time_only"] is True
        assert found[0]["final_accuracy"] is None
        assert found[0]["trainings"]["computed"] == 0

    def test_without_report(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run(file, "--no-report", "--out", "o")
        assert "Report" not in capsys.readouterr().out
        assert set(files(Path("o/default/seed-0"))) == FILES - {"report.html", "trace.json"}

    def test_no_comparison_of_a_single_run(self, file: Path) -> None:
        run(file, "--quiet", "--out", "o")
        assert not Path("o/report.html").exists()

    def test_trained(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", str(file), "--out", "o", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert found["targets"]["0.01"]["round"] >= 1
        assert found["targets"]["0.99"] is None
        issued, dropped = found["trainings"]["issued"], found["trainings"]["dropped"]
        assert found["trainings"]["computed"] == issued - dropped > 0
        assert set(files(Path("o/default/seed-0"))) >= FILES | {"model.pt"}


class TestReportOfAStudy:
    def test_is_of_all_runs_there(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file.write_text(SCENARIO + VARIANTS)
        page = Path("o/report.html")
        fork = ["fork", "o/waits/seed-1", "--at", "1s", "--set", "rounds.clients=4"]
        for words, n in (
            (["--seeds", "0-1"], 4),
            ([], 4),
            (["--seed", "2", "--variant", "drops"], 5),
            (fork, 6),
        ):
            if words is fork:
                assert main(words) == 0
            else:
                run(file, "--out", "o", *words)
            told = f" (all {n} runs there)" if words != ["--seeds", "0-1"] else ""
            assert capsys.readouterr().out.splitlines()[-1] == f"Report: {page}{told}"
            written = page.read_text()
            assert main(["report", "o"]) == 0
            capsys.readouterr()
            assert page.read_text() == written

    def test_does_without_what_can_not_be_read(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(file, "-q", "--out", "o", "--seeds", "0-2")
        summary = Path("o/default/seed-2/summary.json")
        summary.write_text("{")
        run(file, "--out", "o")
        out, err = capsys.readouterr()
        assert out.splitlines()[-1] == f"Report: {Path('o') / 'report.html'} (all 2 runs there)"
        assert f"note: left out of the report: {summary} is damaged" in err


class TestWhatIsRun:
    def test_set_changes_the_scenario(self, file: Path) -> None:
        run(file, "-q", "--out", "o", "--set", "rounds.clients=7", "--set", "name=other")
        scenario = Scenario.load("o/default/seed-0/scenario.yaml")
        assert (scenario.rounds.clients, scenario.name) == (7, "other")

    def test_set_wins_over_variants(self, file: Path) -> None:
        file.write_text(SCENARIO + VARIANTS)
        run(file, "-q", "--out", "o", "--set", "rounds.policy.deadline=9 s")
        for variant in ("waits", "drops"):
            scenario = Scenario.load(f"o/{variant}/seed-0/scenario.yaml")
            assert scenario.to_dict()["rounds"]["policy"]["deadline"] == "9 s"

    @pytest.mark.parametrize(
        ("words", "seeds"),
        [
            ([], {0}),
            (["--seed", "5"], {5}),
            (["--seeds", "0-2"], {0, 1, 2}),
            (["--seeds", "3,1"], {1, 3}),
        ],
    )
    def test_seeds(self, words: list[str], seeds: set[int], file: Path) -> None:
        run(file, "-q", "--out", "o", *words)
        assert {path.name for path in Path("o/default").iterdir()} == {
            f"seed-{seed}" for seed in seeds
        }

    def test_seeds_differ_and_repeat(self, file: Path) -> None:
        run(file, "-q", "--out", "a", "--seeds", "0-1")
        run(file, "-q", "--out", "b", "--seeds", "1")
        logs = [
            Path(f"{o}/default/seed-{s}/events.jsonl") for o, s in (("a", 0), ("a", 1), ("b", 1))
        ]
        first, second, again = (log.read_bytes() for log in logs)
        assert first != second == again

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--seed", "1", "--seeds", "2"], "--seed or --seeds, not both"),
            (["--seeds", "x"], "--seeds: expected seeds such as 0-4"),
            (["--seed", "-1"], "'--seed'"),
            (["--set", "rounds.clients"], "rounds.clients"),
            (["--set", "rounds.cleints=3"], "did you mean 'clients'?"),
            (["--set", "selection=power_of_choice"], "--time-only"),
            (["--executor", "procesess"], "did you mean 'processes'?"),
            (["--data-dir", "nowhere", "--set", "data.dataset=mnist"], "nowhere does not exist"),
            (["--workers", "0"], "'--workers'"),
            (["--ray-address", "x:1"], "--ray-address is for --executor ray, not auto"),
        ],
    )
    def test_bad_words_leave_nothing(
        self, words: list[str], message: str, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run(file, "--out", "o", *words, code=2)
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
        assert not Path("o").exists()

    def test_a_seed_that_is_set_beside_others_is_not_left_unused(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for seed in (7, 1):
            run(file, "--set", f"seed={seed}", "--set", "seeds=0-1", "-q", code=2)
            assert "the scenario has `seeds`, with which it is run" in capsys.readouterr().err
        assert not Path("runs").exists()
        drawn = "sweep={random: 1, training.batch_size: [8, 9]}"
        run(file, "--set", "seed=7", "--set", "seeds=[0]", "--set", drawn, "-q", "--no-report")
        unmade = ["--set", "seed=7", "--set", "seed=0"]
        run(file, *unmade, "--set", "seeds=[0]", "-q", "--no-report", "--overwrite")
        run(file, "--set", "seed=7", "-q", "--no-report")
        assert Path("runs/commanded/default/seed-7").exists()


class TestSweeps:
    SWEEP = "sweep: {rounds.clients: [4, 6], training.epochs: [1, 2]}\n"

    def test_folders_and_factors(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        from simfl.runs.results.find import load

        file.write_text(SCENARIO + self.SWEEP)
        run(file, "-q", "--out", "o", "--variant", "clients=6_epochs=1", "--seeds", "0-1")
        folders = [Path(f"o/clients=6_epochs=1/seed-{seed}") for seed in (0, 1)]
        assert sorted(Path("o").glob("*/seed-*")) == folders
        for folder in folders:
            assert load(folder).factors == {"rounds.clients": 6, "training.epochs": 1}
        run(file, "--out", "o", "--variant", "clients=5_epochs=1", code=2)
        assert "did you mean 'clients=" in capsys.readouterr().err

    def test_a_dry_run_writes_nothing(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file.write_text(SCENARIO + self.SWEEP)
        run(file, "--out", "o", "--dry-run", "--seeds", "0-2")
        out = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in out[:-1]] == [
            f"clients={clients}_epochs={epochs}" for clients in (4, 6) for epochs in (1, 2)
        ]
        assert all("3 seeds, 3 rounds each" in line for line in out[:-1])
        assert out[-1].startswith("12 runs, 1 at a time: less than 1 s on this machine ")
        assert all("; less than 1 s of one core, " in line for line in out[:-1])
        assert not re.search(r"\d{3}\.|\d\.\d\d", out[-1])  # nobody knows that many digits
        assert re.search(r"\(starting and pages not counted\), .*B on disk, .*B of memory", out[-1])
        assert not Path("o").exists()
        run(file, "--dry-run", "--set", "selection=power_of_choice", code=2)

    def test_a_dry_run_of_more_runs_at_once_than_there_are_cores_tells_no_less_time(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Four runs at once were told to take a quarter of the time on two cores."""
        monkeypatch.setattr("simfl.cli._plan.cores", lambda: 2)
        many = ["--set", "rounds.stop.rounds=1000000", "--seeds", "0-3", "--dry-run"]
        told = []
        for jobs in (2, 4):
            run(file, *many, "--jobs", str(jobs), "--executor", "inline")
            told.append(capsys.readouterr().out.splitlines()[-1].partition(" on this machine")[0])
        two, four = (line.partition(": ")[2] for line in told)
        assert "at a time" in told[0]
        assert two == four

    def test_a_dry_run_knows_not_how_many_rounds_fit_into_a_time(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A week was told to be "100 rounds each, about 18 s": it was 2,000, and an hour."""
        file.write_text(SCENARIO.replace("rounds: 3", "time: 7 d"))
        run(file, "--dry-run")
        alone, total = capsys.readouterr().out.splitlines()
        assert "  1 seed, unknown how many rounds; 100 each would take " in alone
        assert "`rounds.stop` counts no rounds, that is for 100: many more may fit (`simfl" in total
        run(file, "--dry-run", "--set", "rounds.stop.rounds=3")
        assert "100" not in capsys.readouterr().out

    def test_an_accuracy_that_ends_no_run_without_training_is_told(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A run of hours of virtual time was planned as if an accuracy could end it."""
        file.write_text(SCENARIO.replace("rounds: 3", "time: 7 d, accuracy: 50%"))
        never = "rounds.stop.accuracy: without effect under --time-only: "
        run(file, "--dry-run")
        assert never in capsys.readouterr().out
        for words in (["--time-only"], []):
            assert main(["validate", str(file), *words]) == 0
            assert (never in capsys.readouterr().out) == bool(words)

    def test_an_end_that_only_a_good_model_brings_is_told(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Nothing was said of a run that could go on for ever."""
        for stop, told in (("accuracy: 99%", True), ("accuracy: 99%, rounds: 9", False)):
            file.write_text(SCENARIO.replace("rounds: 3", stop))
            for command in (["validate", str(file)], ["run", str(file), "--dry-run"]):
                assert main(command) == 0
                out = " ".join(capsys.readouterr().out.split())
                assert ("rounds.stop: names nothing that ends a run whose" in out) == told

    def test_a_dry_run_tells_what_is_there_already(
        self, file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A study that was finished was told as work."""
        file.write_text(SCENARIO + VARIANTS)
        command = ("--out", "o", "--seeds", "0-1")
        run(file, "-q", *command, "--variant", "waits")
        Path("o/waits/seed-1/summary.json").unlink()
        before = files(Path("o"))
        capsys.readouterr()
        run(file, *command, "--dry-run", code=2)
        assert "seed-1 holds an unfinished run" in capsys.readouterr().err
        run(file, *command, "--dry-run", "--resume")
        lines = capsys.readouterr().out.splitlines()
        assert "  2 seeds, 3 rounds each, 1 finished and reused, 1 gone on with; le" in lines[0]
        assert "  2 seeds, 3 rounds each; less than 1 s" in lines[1]
        assert lines[2].startswith("3 runs, ")
        run(file, *command, "--dry-run", "--overwrite")
        assert "4 runs, " in capsys.readouterr().out
        run(file, *command, "--dry-run", "--resume", "--json")
        plan = json.loads(capsys.readouterr().out)
        assert [(own["variant"], own["seed"], own["fate"]) for own in plan] == [
            ("waits", 0, "finished and reused"), ("waits", 1, "gone on with"),
            ("drops", 0, "made"), ("drops", 1, "made"),
        ]  # fmt: skip
        assert {own["rounds"] for own in plan} == {3}
        assert files(Path("o")) == before
        run(file, *command, "-q", "--resume")
        run(file, *command, "--dry-run")
        assert capsys.readouterr().out.splitlines()[-1] == "4 runs: nothing is left to do"
