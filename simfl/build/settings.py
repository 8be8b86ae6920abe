"""What a scenario has the server be told."""

from numbers import Integral

from simfl.build.model_facts import ModelFacts, memory_to_train
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.scenario.privacy import privacy_of, why_no_epsilon
from simfl.scenario.scenario import Scenario
from simfl.sim.server.settings import Prices, Settings, Stop


def server_settings(scenario: Scenario, model: ModelFacts) -> Settings:
    """Return what the server of a run of `scenario` is told."""
    rounds, training = scenario.rounds, scenario.training
    stop = rounds.stop
    return Settings(
        clients=rounds.clients,
        min_clients=rounds.min_clients,
        epochs=training.epochs or 0,
        steps=training.steps,
        batch_size=training.batch_size,
        convex=model.convex,
        stop=Stop(
            rounds=stop.rounds,
            time_s=stop.time,
            accuracy=stop.accuracy,
            size=None if stop.bytes is None else int(stop.bytes),
            energy_j=stop.energy,
            target=stop.target,
            epsilon=stop.epsilon,
        ),
        evaluate_every=scenario.evaluation.every,
        evaluate_initial=scenario.evaluation.initial,
        targets=scenario.evaluation.targets,
        reached=scenario.criteria.reached,
        metrics=scenario.evaluation.labels,
        prices=_prices(scenario, model),
        wants=_charged(scenario),
        filters_updates=training.filter.stage == "client",
        memory_bytes=memory_to_train(scenario),
        forward_units=model.forward_units,
        privacy=None if why_no_epsilon(scenario) else privacy_of(scenario),
    )


def _charged(scenario: Scenario) -> tuple[str, ...]:
    """Return what participants measure beside their update that costs something, each once."""
    selection = scenario.selection
    asked = selection.wants if selection.charge_probes else ()
    return tuple(dict.fromkeys([*asked, *scenario.aggregation.wants]))


def _prices(scenario: Scenario, model: ModelFacts) -> Prices:
    size, aggregation = 4 * model.parameters, scenario.aggregation
    sends = aggregation.corrects and aggregation.sends_corrections
    compressor = scenario.training.compression
    with blaming(compressor, "telling the size of an update"):
        update_size = compressor.size(model.parameters)
        whole = isinstance(update_size, Integral) and update_size >= 0
        expect(whole, "a whole number of bytes, 0 or more", update_size)
    return Prices(
        model_bytes=size,
        update_bytes=int(update_size),
        correction_bytes=size if sends else 0,
        report_bytes=int(update_size) if sends else 0,
        profile_bytes=4 * model.profile,
        charge_probes=scenario.selection.charge_probes,
    )
