"""Controllers as files: three forms written and read, and what each of them refuses."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_controllers import law_of_controller
from strategies import families, policies, pomdps, strange_memories

from pomdps import recall, recall4, t_maze, tiger
from workbench import (
    Memory,
    Policy,
    augment,
    best_memoryless,
    controller_of,
    evaluate,
    load_controller,
    save_controller,
    uniform,
)
from workbench.core.errors import PolicyError, UnknownLabel, WorkbenchError
from workbench.interop.controller_file import FORMS, Written, controller_data, controller_from_data
from workbench.interop.storm import export_drn
from workbench.results.json import Unreadable

F = Fraction


def through_text(P, controller, form):
    return controller_from_data(P, json.loads(json.dumps(controller_data(controller, form))))


def best_controller(P, memory):
    best = best_memoryless(augment(P, memory), exact=True)
    return controller_of(P, memory, best.policy)


@given(pomdps(), st.one_of(families(), strange_memories()), st.data())
@settings(max_examples=30)
def test_our_own_form_loses_nothing(P, memory, data):
    attached = memory.on(P)
    pi = data.draw(policies(augment(P, attached)))
    controller = controller_of(P, attached, pi)
    again = through_text(P, controller, "json")
    assert (again.act, again.after, again.start) == (
        controller.act,
        controller.after,
        controller.start,
    )
    assert again.names == controller.names


@pytest.mark.parametrize("form", FORMS)
@given(P=pomdps(), memory=families(), data=st.data())
@settings(max_examples=15)
def test_certain_controllers_come_back_from_every_form(form, P, memory, data):
    attached = memory.on(P)
    pi = data.draw(policies(augment(P, attached), deterministic=True))
    controller = controller_of(P, attached, pi)
    if any(what in ("a", "r") for what in controller.reads):
        return
    again = through_text(P, controller, form)
    assert law_of_controller(P, again, 2) == law_of_controller(P, controller, 2)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_each_form_is_read_and_worth_the_same(form, tmp_path):
    P = t_maze(3)
    path = tmp_path / "controller"
    save_controller(best_controller(P, "O1").minimised(), path, form)
    again = load_controller(P, path)
    assert len(again) == 2
    assert evaluate(again.product, again.policy, exact=True).value == F(6561, 2500)


def test_paynt_has_what_its_reader_expects():
    data = controller_data(best_controller(recall(), "B2"), "paynt")
    assert data == {
        "num_nodes": 3,
        "num_observations": 1,
        "action_function": [[0], [1], [2]],
        "update_function": [[1], [2], [2]],
        "action_labels": ["1", "2", "3"],
        "observation_labels": ["o"],
    }


def test_paynts_labels_in_another_order_and_probabilities_as_text_keys():
    data = {
        "num_nodes": 1,
        "num_observations": 1,
        "action_function": [[{"0": 0.25, "1": 0.75}]],
        "update_function": [[{"0": 1.0}]],
        "action_labels": ["3", "0"],
    }
    controller = controller_from_data(recall4(), data)
    assert controller.act == {(0, "o"): {3: F(1, 4), 0: F(3, 4)}}


def test_numbers_of_a_scheduler_are_those_of_the_exported_task():
    """A state's number, its choices' numbers and its successors are read off the DRN file."""
    P = t_maze(2)
    states, choice, choices = {}, 0, {}
    for line in export_drn(P).split("@model")[1].strip().splitlines():
        words = line.split()
        if words[0] == "state":
            state = int(words[1])
            states[state] = {}
        elif words[0] == "action":
            choices[choice], choice = (state, words[1]), choice + 1
            states[state][words[1]] = []
        else:
            states[state][list(states[state])[-1]].append(int(words[0]))
    data = controller_data(best_controller(P, "O1"), "storm")
    defined = [one for one in data if one["c"] != "undefined"]
    assert defined
    for one in defined:
        for chosen in one["c"]:
            assert choices[chosen["index"]] == (one["s"], chosen["labels"][0])
            to = [move["s'"] for move in chosen["memory-updates"]]
            assert sorted(to) == sorted(states[one["s"]][chosen["labels"][0]])


def test_a_scheduler_that_looks_at_the_state_is_no_controller():
    P = recall4()
    data = controller_data(best_controller(P, "none"), "storm")
    (other,) = [one for one in data if one["s"] == 1 and one["m"] == 0]
    other["c"][0]["labels"] = ["2"]
    with pytest.raises(PolicyError, match=r"it tells s\* from s0, which both show o"):
        controller_from_data(P, data)


def test_states_with_several_observations_are_written_as_pairs():
    P = tiger()
    noisy = P.omega.is_deterministic
    assert Written(P).pairs is not noisy
    least = best_controller(P, "K1").minimised()
    again = through_text(P, least, "storm")
    values = [
        evaluate(c.product, c.policy, exact=True, weights="discounted").value
        for c in (least, again)
    ]
    assert values[0] == values[1]


def test_what_a_form_cannot_say_is_refused():
    P = tiger()
    won = Memory("won", [0, 1], ["-"], lambda m, w, o, a, r, o_next: {int(r > 0): 1}, {0: 1})
    reads = controller_of(P, won, uniform(augment(P, won)))
    for form, message in (("paynt", "this one reads r"), ("storm", "this controller reads r")):
        with pytest.raises(PolicyError, match=message):
            controller_data(reads, form)
    ahead = Memory(
        "ahead", list(P.O), ["-"], lambda m, w, o, a, r, o_next: {o_next: 1}, {P.O[0]: 1}
    )
    sees = controller_of(P, ahead, uniform(augment(P, ahead)))
    with pytest.raises(PolicyError, match="reads o': take its posterior_unaware"):
        controller_data(sees, "paynt")
    assert controller_data(sees.posterior_unaware(), "paynt")["num_nodes"] >= 1
    chance = Memory("chance", [0, 1], ["-"], lambda *_: {0: F(1, 2), 1: F(1, 2)}, {0: 1})
    with pytest.raises(PolicyError, match="not left to chance"):
        controller_data(controller_of(P, chance, uniform(augment(P, chance))), "storm")
    both = Memory("both", [0, 1], ["-"], lambda m, *_: {m: 1}, {0: F(1, 2), 1: F(1, 2)})
    for form in ("paynt", "storm"):
        with pytest.raises(PolicyError, match="start in one node"):
            controller_data(controller_of(P, both, uniform(augment(P, both))), form)
    with pytest.raises(UnknownLabel, match="not as 'dot'"):
        controller_data(reads, "dot")


def test_random_actions_go_through_paynts_form():
    P = recall4()
    E = augment(P, "none")
    controller = controller_of(P, "none", Policy(E, [[0.5, 0.25, 0.25, 0.0]]))
    again = through_text(P, controller, "paynt")
    assert again.act == {(0, "o"): {0: F(1, 2), 1: F(1, 4), 2: F(1, 4)}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no controller"),
        ("x", "no controller"),
        ({"num_nodes": 1}, "no controller: KeyError"),
        ({"nodes": ["a"], "after": 3, "act": [], "start": []}, "no controller: TypeError"),
        ([{"s": {"x": 1}, "c": []}], "Storm's states are numbers here"),
        ({"num_nodes": 1, "action_labels": ["fly"]}, "fly is no action of the task"),
        (
            {"num_nodes": 1, "observation_labels": ["dark"]},
            "it knows no observation o",
        ),
    ],
)  # fmt: skip
def test_what_is_no_controller_is_refused(data, message):
    with pytest.raises((Unreadable, PolicyError), match=message):
        controller_from_data(recall4(), data)


def own(**changes):
    """Our own form of a controller that does 0 in recall4 for ever, with some parts changed."""
    written = {
        "nodes": ["only"],
        "start": [[0, "1"]],
        "act": [[0, "o", [[0, "1"]]]],
        "after": [[0, "o", 0, "0", "o", [[0, "1"]]]],
    }
    return written | changes


def paynt(**changes):
    written = {
        "num_nodes": 1,
        "num_observations": 1,
        "action_function": [[0]],
        "update_function": [[0]],
    }
    return written | changes


def storm(labels=("0",), after=0, m=0):
    """A scheduler for recall4: the first state and those that look like it."""
    return [
        {
            "s": s,
            "m": m,
            "c": [{"labels": list(labels), "memory-updates": [{"s'": 1, "m'": after}]}],
        }
        for s in range(5)
    ]


@pytest.mark.parametrize("data", [own(), paynt(), storm()])
def test_what_is_spoiled_below_fits_as_it_stands(data):
    assert len(controller_from_data(recall4(), data)) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (own(act=[[0, "dark", [[0, "1"]]]]), "dark is no observation of the task"),
        (own(act=[[0, "o", [[7, "1"]]]]), "7 is no action of the task"),
        (own(act=[]), "takes no action at node only where o=o is seen"),
        (own(act=[[3, "o", [[0, "1"]]]]), "3 is no node of the controller"),
        (own(start=[[2, "1"]]), "2 is no node of the controller"),
        (own(start=[["only", "1"]]), "only is no node of the controller"),
        (own(after=[[0, "o", 0, "0", "o", [[4, "1"]]]]), "4 is no node of the controller"),
        (own(after=[[0, "o", 0, "0", "dark", [[0, "1"]]]]), "dark is no observation of the task"),
        (own(after=[[0, "o", 9, "0", "o", [[0, "1"]]]]), "9 is no action of the task"),
        (own(after=[]), "goes nowhere from node only after o=o, a=0, r=0, o'=o"),
        (paynt(action_function=[[9]]), "no action of number 9, which stands at node 0 where o is"),
        (paynt(action_function=[[-1]]), "no action of number -1"),
        (paynt(update_function=[[2]]), "no node of number 2, which stands at node 0 where o is"),
        (paynt(update_function=[[None]]), "goes nowhere from node 0 where o is seen"),
        (paynt(update_function=[[]]), "goes nowhere from node 0 where o is seen"),
        (paynt(action_function=[[None]]), "takes no action at node 0 where o=o is seen"),
        (paynt(num_observations=3), "it has 3 observations without labels, the task has 1"),
        (paynt(num_nodes=2), "action_function has 1 row for 2 nodes"),
        (paynt(action_function=[[0], [0]], num_nodes=2), "update_function has 1 row for 2 nodes"),
        (storm(labels=("fly",)), "fly is no action of the task"),
        (storm(labels=()), r"names no action in state 0 \(s\*\), memory state 0"),
        (storm(after=3), "does not say what it does in memory state 3, where it goes from 0 after"),
        (paynt(action_function=[[{"0": "1/0"}]]), "no fraction"),
        (paynt(action_function=[[{"0": "1e999999999"}]]), "no fraction"),
        (paynt(action_function=[[{"0": None}]]), "no probability"),
        (storm(m=10**12), "speaks of memory state 1,000,000,000,000"),
        (storm(m=1), "takes no action at node 0 where o=o is seen"),
    ],
)
def test_a_controller_that_does_not_fit_is_refused_with_the_label_at_fault(data, message):
    with pytest.raises((Unreadable, PolicyError), match=message):
        controller_from_data(recall4(), data)


def test_a_controller_for_another_task_is_refused(tmp_path):
    path = tmp_path / "c.json"
    save_controller(best_controller(t_maze(2), "O1"), path)
    with pytest.raises(PolicyError, match="does not fit recall4: goal up is no observation"):
        load_controller(recall4(), path)
    with pytest.raises(WorkbenchError, match="cannot read"):
        load_controller(recall4(), tmp_path / "nothing")
    with pytest.raises(WorkbenchError, match="cannot write"):
        save_controller(best_controller(recall4(), "none"), tmp_path / "no" / "folder")
