"""The privacy spent: against published values, integrals, another library, and in whole runs."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from simfl import Options, RunResult, Scenario, compare
from simfl.core.epsilon import (
    ORDERS,
    Spent,
    gaussian_epsilon,
    poisson_epsilon,
    renyi_divergence,
)
from simfl.report.comparison.legend import legend
from simfl.runs.privacy import privacy_spent
from simfl.scenario.cautions import cautions
from tests.tiny import TINY, RunTiny

PRIVATE = {"aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 2}}


@pytest.mark.parametrize(
    ("noise", "rate", "rounds", "printed"),
    [
        (4, 0.01, 10_000, 1.26),  # Abadi et al., 2016, arXiv:1607.00133, section 3.2
        # The tutorials of tensorflow/privacy at 047e1ee: batches of 256 of MNIST.
        (1.12, 256 / 60_000, 60 * 60_000 // 256, 2.92),
        (1.2, 256 / 60_000, 10 * 60_000 // 256, 1.20),
        (0.6, 256 / 60_000, 30 * 60_000 // 256, 9.74),
    ],
)
def test_published_epsilons_are_found_and_are_no_less_than_ours(
    noise: float, rate: float, rounds: int, printed: float
) -> None:
    """Which were converted in the way of Mironov, 2017; the present one gives less."""
    delta = 1e-5
    classical = min(
        rounds * renyi_divergence(order, noise, rate) + math.log(1 / delta) / (order - 1)
        for order in ORDERS
    )
    assert classical == pytest.approx(printed, rel=5e-3)
    assert poisson_epsilon(noise, rate, rounds, delta) < printed


@pytest.mark.parametrize(
    ("noise", "rate", "rounds", "renyi", "exact"),
    [
        (4, 0.01, 10_000, 1.0354900660362436, 0.9469993068930963),
        (2, 0.01, 500, 0.4791899313608409, 0.43199428362876957),
        (1, 0.1, 1000, 27.163494340026944, 25.204555197953106),
    ],
)
def test_as_another_library_has_it(
    noise: float, rate: float, rounds: int, renyi: float, exact: float
) -> None:
    """Those are dp-accounting 0.6.0's `RdpAccountant` and `PLDAccountant`."""
    found = poisson_epsilon(noise, rate, rounds, 1e-5)
    assert found == pytest.approx(renyi, rel=1e-9)
    assert found > exact


@pytest.mark.parametrize("order", [2, 3, 17])
@pytest.mark.parametrize(("noise", "rate"), [(0.7, 0.03), (1.5, 0.5), (4.0, 0.01), (1.0, 1.0)])
def test_the_divergence_is_its_integral(order: int, noise: float, rate: float) -> None:
    def integrand(z: float) -> float:
        likelihood = 1 - rate + rate * math.exp((2 * z - 1) / (2 * noise**2))
        return math.exp(float(norm.logpdf(z, scale=noise)) + order * math.log(likelihood))

    mean, _ = quad(integrand, -12 * noise, order + 12 * noise, points=[0, order], limit=200)
    expected = math.log(mean) / (order - 1)
    assert renyi_divergence(order, noise, rate) == pytest.approx(expected, rel=1e-6)


def test_the_gaussian_is_exact() -> None:
    """By the integral of what is more likely with the client than exp(epsilon) times without."""
    noise, rounds, delta = 3.0, 7, 1e-6
    epsilon = gaussian_epsilon(noise, rounds, delta)
    far = math.sqrt(rounds) / noise
    split = epsilon / far + far / 2  # the likelihood ratio is exp(epsilon) there
    more, _ = quad(
        lambda z: norm.pdf(z, far) - math.exp(epsilon) * norm.pdf(z), split, split + 30, limit=200
    )
    assert more == pytest.approx(delta, rel=1e-6)
    assert gaussian_epsilon(3.730632, 1, 1e-5) == pytest.approx(1, rel=1e-6)  # Balle & Wang
    assert gaussian_epsilon(1, 10, 1e-5) == pytest.approx(17.856586848893034)  # dp-accounting
    assert gaussian_epsilon(1, 1, 1e-300) < gaussian_epsilon(1, 1, 5e-324) < math.inf
    assert gaussian_epsilon(5, 0, 1e-5) == gaussian_epsilon(1e9, 1, 1e-5) == 0


@settings(max_examples=10)
@given(
    noise=st.floats(1e-3, 50),
    rate=st.floats(0, 1),
    rounds=st.integers(1, 10**5),
    delta=st.floats(1e-12, 0.1),
)
def test_less_noise_more_rounds_and_larger_rounds_spend_more(
    noise: float, rate: float, rounds: int, delta: float
) -> None:
    spent = poisson_epsilon(noise, rate, rounds, delta)
    assert 0 <= spent <= gaussian_epsilon(noise, rounds, delta)
    more = 1 + 1e-9
    assert spent <= poisson_epsilon(noise / 2, rate, rounds, delta) * more
    assert spent <= poisson_epsilon(noise, rate, 2 * rounds, delta) * more
    assert spent <= poisson_epsilon(noise, min(1, 2 * rate), rounds, delta) * more


def told(result: RunResult) -> dict[str, Any]:
    spent: dict[str, Any] = json.loads((result.folder / "summary.json").read_text())["privacy"]
    return spent


def test_a_run_tells_what_it_has_spent(run_tiny: RunTiny) -> None:
    """Four of eight in each of four rounds; the clock alone knows it, too."""
    run = run_tiny({**PRIVATE, "aggregation.delta": 1e-3})
    spent = told(run)
    most = int(np.bincount(run.clients["client"]).max())
    assert spent == {
        "delta": 1e-3,
        "epsilon": gaussian_epsilon(2, most, 1e-3),
        "epsilon_poisson": poisson_epsilon(2, 4 / 8, 4, 1e-3),
        "why_none": "",
    }
    clock = run_tiny({**PRIVATE, "aggregation.delta": 1e-3}, Options(time_only=True))
    assert told(clock) == spent
    names = [column.metric.name for column in compare([run]).columns]
    assert names[-2:] == ["epsilon", "epsilon_poisson"]


def test_a_clip_that_adapts_spends_no_more(run_tiny: RunTiny) -> None:
    """What it tells of lengths is paid for with more noise, not with more epsilon."""
    adaptive = {"name": "dp_fedavg_adaptive", "noise_multiplier": 2, "count_noise": 1.5}
    run = run_tiny({"aggregation": adaptive})
    assert told(run) == told(run_tiny(PRIVATE))
    clips = np.load(run.folder / "aggregator.npz")["clip"]
    assert (len(clips), clips[0]) == (run.n_rounds + 1, 0.1)
    [(path, caution)] = cautions(Scenario.from_dict(run.scenario))
    assert path == ("aggregation", "count_noise")
    assert caution.startswith("updates get 1.34 times the noise of 'dp_fedavg'")
    adaptive["count_noise"] = 5
    assert not [*cautions(Scenario.from_dict({**TINY, "aggregation": adaptive}))]


def test_who_refuses_leaves_the_others_with_larger_chances(run_tiny: RunTiny) -> None:
    small = [{"name": "small", "count": 3, "memory": "1 kB"}, {"name": "large", "count": 5}]
    run = run_tiny({**PRIVATE, "fleet": [{**g, "compute": "50 samples/s"} for g in small]})
    refused = run.summary["refused_memory"]
    assert refused
    assert told(run)["epsilon_poisson"] == poisson_epsilon(2, 4 / (8 - refused), 4, 1e-5)


def test_chances_that_differ_have_no_poisson(run_tiny: RunTiny) -> None:
    away = {"fleet.availability": {"name": "on_off", "on": "1 min", "off": "1 s"}}
    for changes in ({"selection": "round_robin"}, away):
        spent = told(run_tiny({**PRIVATE, **changes}))
        assert spent["epsilon"] > 0
        assert spent["epsilon_poisson"] is None


def test_epsilons_are_told_with_their_delta_and_no_other_is_explained(run_tiny: RunTiny) -> None:
    """Nothing below a comparison told delta, and Poisson was explained where none was."""
    ordered = run_tiny({**PRIVATE, "selection": "round_robin"})
    poisson = run_tiny({**PRIVATE, "aggregation.delta": 1e-3})
    first, *_ = legend(compare([ordered]))
    assert first.startswith("Epsilon, at delta 1e-05: of the client")
    assert "Poisson" not in " ".join(legend(compare([ordered])))
    assert "Epsilon, Poisson, at delta 0.001: " in " ".join(legend(compare([poisson])))
    both = compare([ordered, poisson])
    assert "Epsilon, at delta 1e-05 and 0.001: " in " ".join(legend(both))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"selection": "power_of_choice"},
            "selector 'power_of_choice' chooses by what clients report",
        ),
        ({"selection": {"name": "oracle", "goal": "balanced"}}, "selector 'oracle' chooses by"),
        ({"training.filter": {"name": "cmfl", "threshold": 0.1}}, "filter 'cmfl' judges updates"),
        ({"fleet.attack": "inner_product"}, "attack 'inner_product' lets devices send what others"),
        ({"aggregation.noise_multiplier": 0}, "there is hardly any noise"),
    ],
)
def test_what_is_chosen_without_noise_has_no_epsilon(
    run_tiny: RunTiny, changes: dict[str, Any], why: str
) -> None:
    run = run_tiny({**PRIVATE, **changes, "rounds.stop": {"rounds": 1}})
    spent = told(run)
    assert why in spent.pop("why_none")
    assert spent == {"delta": 1e-5, "epsilon": None, "epsilon_poisson": None}
    [(_, told_before)] = cautions(Scenario.from_dict(run.scenario))
    assert told_before.startswith(f"no epsilon can be given: {why}")


def test_what_a_run_is_continued_with_has_to_spend_the_same() -> None:
    first, longer, louder, plain = (
        Scenario.from_dict(TINY, overrides=[f"{k}={json.dumps(v)}" for k, v in changes.items()])
        for changes in (
            PRIVATE,
            {**PRIVATE, "rounds.stop.rounds": 9},
            {**PRIVATE, "aggregation.noise_multiplier": 3},
            {},
        )
    )
    last = Spent(2.0, 1.0)
    alone = privacy_spent([first], last)
    assert alone == {"delta": 1e-5, **last._asdict(), "why_none": ""}
    assert privacy_spent([first, longer], last) == alone
    for other in (louder, plain):
        spent = privacy_spent([first, other], last)
        assert spent is not None
        assert spent["epsilon"] is None
        assert spent["why_none"] == "the rules have changed on the way"
    assert privacy_spent([plain], last) is None


def test_runs_without_noise_tell_nothing(run_tiny: RunTiny) -> None:
    assert "privacy" not in run_tiny({"rounds.stop": {"rounds": 1}}).summary
