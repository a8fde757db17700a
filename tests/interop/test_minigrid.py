"""MiniGrid tasks compiled from the real package, compared with rollouts of the package, observation
by observation."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import reference_hallway as dynamic_programming

gymnasium = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: pip install 'memory-workbench[gym]'"
)
pytest.importorskip(
    "minigrid", reason="minigrid is not installed: pip install 'memory-workbench[gym]'"
)

from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT  # noqa: E402
from minigrid.wrappers import ImgObsWrapper  # noqa: E402

from pomdps import TASKS, memory_s7, red_blue_doors  # noqa: E402
from pomdps.minigrid_tasks import SMALL_DOORS  # noqa: E402
from workbench import memories  # noqa: E402
from workbench.agents.simulate import pair  # noqa: E402
from workbench.core.errors import WrongType  # noqa: E402
from workbench.interop.gym import CannotEnumerate, MemoryWrapper, MiniGridView, from_gymnasium  # noqa: E402
from workbench.interop.gym.draws import every_run  # noqa: E402
from workbench.interop.gym.import_env import _Exploration  # noqa: E402
from workbench.interop.gym.minigrid_view import MiniGridSubject  # noqa: E402
from workbench.interop.gym.subject import Subject, without_limits  # noqa: E402

TURNS = {0: "right", 1: "down", 2: "left", 3: "up"}
DOORS = {0: "open", 1: "closed", 2: "locked"}
KNOWN = {name: task.known for name, task in TASKS.items()} | {"red_blue_doors 6x6": SMALL_DOORS}
SMALL = "MiniGrid-RedBlueDoors-6x6-v0"
LARGE = "MiniGrid-RedBlueDoors-8x8-v0"
MEMORY = "MiniGrid-MemoryS7-v0"


@cache
def model(env_id, compass=True):
    if env_id == MEMORY:
        return memory_s7(compass=compass)
    return red_blue_doors(size=6 if env_id == SMALL else 8, compass=compass)


def words(kind, colour, state):
    """A cell as the task's labels name it, from the package's encoding."""
    name = IDX_TO_OBJECT[kind]
    if name in ("empty", "unseen", "wall"):
        return name
    return f"{IDX_TO_COLOR[colour]} {name}" + (f" {DOORS[state]}" if name == "door" else "")


def seen(obs, compass):
    """The package's observation as a label."""
    image = obs["image"]
    rows = tuple(
        tuple(words(*map(int, image[x, y])) for x in range(image.shape[0]))
        for y in range(image.shape[1])
    )
    return (rows, TURNS[int(obs["direction"])]) if compass else rows


def state_of(env):
    """The state of a running environment of the package as a label: agent, direction, everything
    but walls."""
    bare = env.unwrapped
    things = []
    for y in range(bare.height):
        for x in range(bare.width):
            obj = bare.grid.get(x, y)
            if obj is not None and obj.type != "wall":
                things.append(((x, y), words(*map(int, obj.encode()))))
    return tuple(int(c) for c in bare.agent_pos), TURNS[bare.agent_dir], tuple(things)


def follow(P, env, seed, steps, compass, actions):
    """One rollout of the package beside the compiled model; returns the number of steps
    compared."""
    obs, _ = env.reset(seed=seed)
    s = state_of(env)
    T = env.unwrapped.max_steps
    assert P.mu[s] > 0
    assert P.omega(s) == {seen(obs, compass): 1}
    names = list(P.A)
    for t in range(1, steps + 1):
        a = names[int(actions.integers(len(names)))]
        obs, r, terminated, truncated, _ = env.step(int(env.unwrapped.actions[a]))
        (((s_next, paid), x),) = P.p(s, a).items()
        s = state_of(env)
        assert x == 1
        assert s_next == (("end", s) if terminated else s)
        assert P.omega(s_next) == {seen(obs, compass): 1}
        assert (s_next in P.terminal) == terminated
        assert r == (1 - 0.9 * (t / T) if paid == 1 else 0)
        if terminated or truncated:
            return t
    return steps


def compare(env_id, compass, episodes, steps, first_seed=0):
    P, env = (
        model(env_id, compass),
        gymnasium.make(env_id, agent_view_size=3, disable_env_checker=True),
    )
    actions = np.random.default_rng(first_seed)
    ended = 0
    for seed in range(first_seed, first_seed + episodes):
        ended += follow(P, env, seed, steps, compass, actions) < steps
    return ended


@pytest.mark.parametrize("env_id", [MEMORY, pytest.param(SMALL, marks=pytest.mark.slow)])
def test_rollouts_of_the_package_follow_the_compiled_model(env_id):
    ended = compare(env_id, compass=True, episodes=60 if env_id == MEMORY else 30, steps=40)
    assert ended > 0


@pytest.mark.slow
@pytest.mark.parametrize("env_id", [MEMORY, SMALL, LARGE])
@pytest.mark.parametrize("compass", [True, False])
def test_thousands_of_rollouts_of_the_package_follow_the_compiled_model(env_id, compass):
    compare(env_id, compass, episodes=1000, steps=60, first_seed=10_000)


@pytest.mark.parametrize(
    ("env_id", "known"), [(MEMORY, "memory_s7"), (SMALL, "red_blue_doors 6x6")]
)
def test_sizes_are_as_known(env_id, known):
    P = model(env_id)
    assert (len(P.S), len(P.terminal), len(P.A)) == tuple(
        KNOWN[known][x] for x in ("states", "terminal", "actions")
    )
    assert gymnasium.make(env_id).unwrapped.max_steps == KNOWN[known]["steps"]
    assert P.is_exact


@pytest.mark.slow
def test_the_size_of_the_large_task_is_as_known():
    P = model(LARGE)
    assert (len(P.S), len(P.terminal)) == (
        KNOWN["red_blue_doors"]["states"],
        KNOWN["red_blue_doors"]["terminal"],
    )
    assert len(P.S) - len(P.terminal) == 15_696


def test_counts_follow_from_the_drawing_of_the_rooms():
    P = model(SMALL)
    going = len(P.S) - len(P.terminal)
    room, outside, doors = 4 * 4, 2 * 4, 4 * 4
    assert going == doors * 4 * (room + (room + 1 + outside) + outside) == 3_136
    assert len(P.terminal) == doors * 2


@pytest.mark.parametrize(("env_id", "starts"), [(MEMORY, 4 * 4), (SMALL, 16 * 4 * 16)])
def test_starts_are_equally_likely_as_the_package_draws_them(env_id, starts):
    P, env = model(env_id), gymnasium.make(env_id, agent_view_size=3, disable_env_checker=True)
    assert dict(P.mu) == dict.fromkeys(P.mu, Fraction(1, starts))
    n = 40 * 16 if env_id == MEMORY else 3000
    drawn = Counter()
    for seed in range(n):
        env.reset(seed=seed)
        drawn[state_of(env)] += 1
    assert set(drawn) <= set(P.mu)
    cells = Counter()  # few draws for each start of the large task: compare the agent's cells
    for s, count in drawn.items():
        cells[s[0] if env_id == SMALL else s] += count
    groups = len({s[0] for s in P.mu}) if env_id == SMALL else starts
    chi_square = sum((cells[c] - n / groups) ** 2 / (n / groups) for c in cells)
    assert len(cells) == groups
    assert chi_square < groups - 1 + 6 * math.sqrt(2 * (groups - 1))


def test_only_left_right_and_forward_matter_in_memory_s7():
    P = model(MEMORY)
    for s in P.S:
        for a in ("pickup", "drop", "toggle", "done") if s not in P.terminal else ():
            assert P.p(s, a) == {(s, 0): 1}


def test_the_compass_tells_more_than_the_view():
    with_compass, without = model(MEMORY), model(MEMORY, False)
    assert len(with_compass.O) > len(without.O)
    assert {o[0] for o in with_compass.O} == set(without.O)


def test_the_reward_of_the_package_comes_back_with_a_step_limit():
    P = memory_s7(actions=("left", "right", "forward"), step_limit=30, gamma=1)
    for s in P.S:
        for a in P.A if s not in P.terminal else ():
            ((_, r),) = P.p(s, a)
            assert r in (0, 1 - Fraction(9, 10) * Fraction(s[1] + 1, 30))


def dynamics(P):
    return lambda s, a: {} if s in P.terminal else P.p(s, a)


@pytest.mark.parametrize(
    ("env_id", "known"), [(MEMORY, "memory_s7"), (SMALL, "red_blue_doors 6x6")]
)
def test_best_values_with_full_information(env_id, known):
    P = model(env_id)
    p, r = dynamic_programming.tables(list(P.S), list(P.A), dynamics(P))
    v = dynamic_programming.best_values(p, r, 0.99)
    full = sum(float(P.mu[s]) * v[P.S.index(s)] for s in P.mu)
    assert full == pytest.approx(KNOWN[known]["best with full information"], abs=5e-7)


def test_best_value_by_history_of_memory_s7():
    P = memory_s7(actions=("left", "right", "forward"))
    step = dynamics(P)
    assert len(P.O) == KNOWN["memory_s7"]["observations"]
    beliefs, rows = dynamic_programming.belief_mdp(P, step)
    p, r = dynamic_programming.tables(beliefs, list(P.A), lambda b, a: rows[b, a])
    v = dynamic_programming.best_values(p, r, 0.99)
    first: dict = {}
    for s, x in P.mu.items():
        first.setdefault(next(iter(P.omega(s))), {})[s] = x
    history = 0.0
    for weights in first.values():
        total = sum(weights.values())
        b = frozenset((s, x / total) for s, x in weights.items())
        history += float(total) * v[beliefs.index(b)]
    assert history == pytest.approx(KNOWN["memory_s7"]["best"], abs=5e-7)


# ---------------------------------------------------------------------- the explorer's shortcuts
# for MiniGrid


class Slow(MiniGridSubject):
    """Whole copies, and observations made at every step."""

    copy = Subject.copy

    def __init__(self, env):
        bare = type(env.unwrapped)
        super().__init__(env, None, MiniGridView())
        self.sees_by_state = False
        place = type(env.unwrapped).place_obj
        env.unwrapped.__class__ = type(bare.__name__, (bare,), {"place_obj": place})


def explored(subject):
    found = _Exploration(subject, list(subject.actions().values()), 10_000, lambda text: None)
    found.begin([None])
    found.walk()
    return found


@pytest.mark.parametrize("env_id", [MEMORY, "MiniGrid-Unlock-v0"])
def test_quick_copies_and_late_observations_change_nothing(env_id):
    env = without_limits(gymnasium.make(env_id, agent_view_size=3))
    if env_id != MEMORY:
        env = small_unlock()
    quick = explored(MiniGridSubject(without_limits(env), None, None))
    slow = explored(Slow(without_limits(env)))
    assert [node[:2] for node in quick.nodes] == [node[:2] for node in slow.nodes]
    assert quick.seen == slow.seen
    assert (quick.rows, quick.mu) == (slow.rows, slow.mu)


def small_unlock():
    """A room of 2 x 2 cells with a locked door, its key and a box that holds a ball: everything a
    copy can get wrong."""
    from minigrid.core.grid import Grid
    from minigrid.core.mission import MissionSpace
    from minigrid.core.world_object import Ball, Box, Door, Key
    from minigrid.minigrid_env import MiniGridEnv

    class SmallUnlock(MiniGridEnv):
        def __init__(self, **keywords):
            mission = MissionSpace(mission_func=lambda: "open the door")
            super().__init__(mission_space=mission, width=4, height=4, max_steps=50, **keywords)

        def _gen_grid(self, width, height):
            self.grid = Grid(width, height)
            self.grid.wall_rect(0, 0, width, height)
            self.door = Door("red", is_locked=True)
            self.put_obj(self.door, 3, 1)
            self.put_obj(Key("red"), 2, 2)
            self.put_obj(Box("blue", contains=Ball("blue")), 1, 2)
            self.place_agent(rand_dir=False)
            self.agent_dir = 0
            self.mission = "open the door"

        def step(self, action):
            obs, reward, terminated, truncated, info = super().step(action)
            if self.door.is_open:
                return obs, self._reward(), True, truncated, info
            return obs, reward, terminated, truncated, info

    return SmallUnlock(agent_view_size=3)


@pytest.mark.parametrize("env_id", ["MiniGrid-Empty-Random-5x5-v0", "MiniGrid-DoorKey-5x5-v0"])
def test_other_tasks_of_the_package_can_be_followed_without_knowing_the_state(env_id):
    """The states that fit all observations and rewards so far are never none, and the episode ends
    when they do."""
    P, env = (
        from_gymnasium(gymnasium.make(env_id, agent_view_size=3)),
        gymnasium.make(env_id, agent_view_size=3),
    )
    names = list(P.A)
    for seed in range(15):
        actions = np.random.default_rng(seed)
        obs, _ = env.reset(seed=seed)
        fit = {s for s in P.mu if P.omega(s) == {seen(obs, True): 1}}
        for _ in range(40):
            assert fit
            a = names[int(actions.integers(len(names)))]
            obs, r, terminated, _, _ = env.step(int(env.unwrapped.actions[a]))
            fit = {
                s_next
                for s in fit
                for s_next, paid in P.p(s, a)
                if (paid > 0) == (r > 0)
                and P.omega(s_next) == {seen(obs, True): 1}
                and (s_next in P.terminal) == terminated
            }
            if terminated:
                break
        assert fit


def test_wrapped_views_are_explored_as_they_are():
    P = from_gymnasium(
        ImgObsWrapper(gymnasium.make(MEMORY, agent_view_size=3)),
        actions=("left", "right", "forward"),
    )
    assert (len(P.S), len(P.O)) == (168, len(model(MEMORY, False).O))


def test_the_state_can_be_said_to_be_something_else():
    env = gymnasium.make("MiniGrid-Empty-5x5-v0", agent_view_size=3)
    P = from_gymnasium(env, state=("agent_pos", "agent_dir"))
    assert len(P.S) == 8 * 4 + 2
    assert P.omega(((1, 1), 0)) == from_gymnasium(env).omega(((1, 1), "right"))


def test_wrappers_with_a_state_of_their_own_are_refused():
    env = MemoryWrapper(gymnasium.make(MEMORY), "O1")
    with pytest.raises(CannotEnumerate, match="MemoryWrapper"):
        from_gymnasium(env)
    with pytest.raises(CannotEnumerate, match="take the wrappers off"):
        from_gymnasium(ImgObsWrapper(gymnasium.make(MEMORY)), observe=MiniGridView())


# ---------------------------------------------------------------------- memories around the package


def label(family, m, compass=True):
    """A memory of the wrapper in the labels of the model."""
    names = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    if family.kind == "B":
        return "".join(map(str, m.tolist()))
    if family.kind == "OA":
        return tuple(
            (seen(entry[0], compass), names[int(entry[1])]) if filled else None
            for filled, entry in m
        )
    return tuple(seen(entry, compass) if filled else None for filled, entry in m)


@pytest.mark.parametrize("name", ["K2", "B2", "O3", "OA3"])
def test_a_plain_loop_with_a_memory_around_the_package_agrees_with_the_pair_of_model_and_memory(
    name,
):
    P, family = model(MEMORY), memories.parse_memory(name)
    process = pair(P, family)
    W = family.on(P).W
    for seed in range(5):
        env = MemoryWrapper(
            gymnasium.make(MEMORY, agent_view_size=3, disable_env_checker=True), name
        )
        env.action_space.seed(seed)
        o, _ = env.reset(seed=seed)
        state = (state_of(env), label(family, o["memory"]), seen(o["observation"], True))
        assert state in process.start
        for _ in range(60):
            action = env.action_space.sample()
            o, r, terminated, _, _ = env.step(action)
            a = P.A[int(action["action"])], W[int(action["write"])]
            (((state, paid), _),) = process.step(state, a).items()
            assert state[1:] == (label(family, o["memory"]), seen(o["observation"], True))
            assert (paid > 0) == (r > 0)
            if terminated:
                break


def test_the_package_s_observations_cannot_be_flattened_but_its_images_can():
    with pytest.raises(WrongType, match="cannot be flattened"):
        MemoryWrapper(gymnasium.make(MEMORY), "O1", flat=True)
    env = MemoryWrapper(ImgObsWrapper(gymnasium.make(MEMORY, agent_view_size=3)), "O1", flat=True)
    o, _ = env.reset(seed=0)
    assert env.observation_space.contains(o)
    assert env.observation_space.shape == (27 + 1 + 27,)


@pytest.mark.parametrize("seed", range(4))
def test_a_seed_begins_where_the_package_begins_with_it(seed):
    env = gymnasium.make("MiniGrid-Empty-Random-5x5-v0")
    P = from_gymnasium(
        env,
        starts=[seed],
        state=lambda env: (*map(int, env.unwrapped.agent_pos), int(env.unwrapped.agent_dir)),
    )
    env.reset(seed=seed)
    bare = env.unwrapped
    assert list(P.mu) == [(*map(int, bare.agent_pos), int(bare.agent_dir))]


@pytest.mark.slow
def test_obstacles_that_move_are_told_apart_and_may_find_no_free_cell():
    """Tries are limited there; 1,000 steps of the package agree with the model."""
    P = from_gymnasium("MiniGrid-Dynamic-Obstacles-5x5-v0", progress=False)
    assert list(P.A) == ["left", "right", "forward"]
    assert (len(P.S), len(P.O)) == (2_220, 412)
    assert "agrees with 1,000 steps" in P.note


def test_agents_of_rooms_start_where_the_package_lets_them():
    """All cells and directions that 2,000 draws of the package give, and no others."""
    env = gymnasium.make("MiniGrid-Unlock-v0").unwrapped
    env.reset(seed=0)
    explored = MiniGridSubject(without_limits(env), None, None).env

    def where(env):
        env.place_agent(0, 0)
        return tuple(map(int, env.agent_pos)), int(env.agent_dir)

    def run(draws):
        explored.np_random = draws
        return where(explored)

    law = {start: prob for prob, start in every_run(run)}
    assert set(law.values()) == {Fraction(1, len(law))}
    assert set(law) == {where(env) for _ in range(2_000)}
