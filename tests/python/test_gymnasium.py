# SPDX-License-Identifier: Apache-2.0
"""Guests as environments of Gymnasium: its own checker, episodes, seeds, resets, and guests that fail."""

import os
import pathlib
import sys

import numpy as np
import pytest
from a64 import b, code, hlt, movz, str_w, svc
from myriarm import ArgumentError, StateError, StopReason

SOURCE = pathlib.Path(os.environ.get("MYRIARM_SOURCE", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "examples" / "python"))

gymnasium = pytest.importorskip("gymnasium", reason="pip install myriarm[gymnasium]")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from myriarm.gymnasium import Env, VectorEnv  # noqa: E402
from rl_corridor import CORRIDOR, SPACES  # noqa: E402

# The observation is x20 as two words at 0x8000; the action, two float32, is read from 0x8010.
ECHO = code(
    svc(1),
    0xAA0003F4,  # mov x20, x0
    movz(21, 0x8000),
    0x9E6703E0,  # fmov d0, xzr
    0xF90002B4,  # again: str x20, [x21]
    0xAA1503E0,  # mov x0, x21
    movz(1, 0),
    0x910042A2,  # add x2, x21, #16
    svc(0),
    0xF9400AB4,  # ldr x20, [x21, #16]
    0xBD4012A0,  # ldr s0, [x21, #16]
    0x1E22C000,  # fcvt d0, s0
    b(-32),
)


@pytest.fixture
def make_env(device):
    made = []

    def make(program=CORRIDOR, lanes=8, **options):
        options = {"device": device, "memory": 1 << 16, **SPACES, **options}
        made.append(VectorEnv(program, lanes, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.mark.filterwarnings("error")
def test_gymnasiums_own_checker(device):
    env = Env(CORRIDOR, device=device, memory=1 << 16, **SPACES)
    env.spec = gymnasium.envs.registration.EnvSpec(
        "Corridor-v0", entry_point=lambda: None, max_episode_steps=10
    )
    check_env(env, skip_render_check=True, skip_close_check=True)
    env.close()


def test_a_vector_of_lanes_is_as_many_single_environments(make_env, device):
    """Lane i of a vector seeded with s is the environment that is seeded with s + i, step by step."""
    env = make_env(lanes=5)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    observations, _ = env.reset(seed=40)
    assert env.observation_space.contains(observations) and observations.shape == (5, 1)
    env.action_space.seed(3)
    singles = [Env(CORRIDOR, device=device, memory=1 << 16, **SPACES) for _ in range(5)]
    for lane, single in enumerate(singles):
        assert single.reset(seed=40 + lane)[0] == observations[lane]
    ended = np.zeros(5, bool)
    episodes = 0
    for _ in range(60):
        actions = env.action_space.sample()
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert env.observation_space.contains(observations)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, bool, bool)
        for lane, single in enumerate(singles):
            if ended[lane]:
                expected = (single.reset()[0], 0.0, False, False)
            else:
                expected = single.step(actions[lane])[:4]
            assert (observations[lane], rewards[lane], terminated[lane], truncated[lane]) == expected
        ended = terminated | truncated
        episodes += ended.sum()
        assert (infos["stop"] == StopReason.syscall).all()
    assert episodes > 5


def test_the_corridor_is_what_its_assembly_says(make_env):
    env = make_env(lanes=64)
    cells = env.reset(seed=1)[0][:, 0]
    assert len(set(cells.tolist())) > 4 and cells.min() >= 1 and cells.max() <= 8
    rewards, left = np.zeros(64), np.ones(64, bool)
    for _ in range(9):
        cells, reward, terminated, truncated, _ = env.step(np.ones(64, np.int64))
        rewards[left] += reward[left]
        left &= ~terminated
    assert not left.any() and (rewards == 1).all(), "who goes right finds the end of the corridor"
    assert not truncated.any()


def test_seeds(make_env):
    env, other = make_env(lanes=40), make_env(lanes=40)
    first = env.reset(seed=7)[0]
    assert (other.reset(seed=7)[0] == first).all() and (env.reset(seed=7)[0] == first).all()
    second = env.reset()[0]
    assert (second != first).any(), "without a seed the next episodes begin"
    assert (other.reset()[0] == second).all()
    assert (env.reset(seed=8)[0][:-1] == first[1:]).all()
    assert (env.reset(seed=[7 + lane for lane in range(40)])[0] == first).all()
    with pytest.raises(ArgumentError, match="seed has 2 elements for 40 lanes"):
        env.reset(seed=[1, 2])


def test_resets_of_some_lanes(make_env):
    env = make_env(lanes=4, autoreset="disabled")
    assert env.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    with pytest.raises(StateError, match=r"call reset\(\) before step\(\)"):
        env.step(np.zeros(4, np.int64))
    before, _ = env.reset(seed=3)
    terminated = np.zeros(4, bool)
    while not terminated.any():
        observations, _, terminated, _, _ = env.step(np.ones(4, np.int64))
    with pytest.raises(StateError, match=f"the episode of lane {np.argmax(terminated)} has ended"):
        env.step(np.ones(4, np.int64))
    again, _ = env.reset(options={"reset_mask": terminated})
    assert (again[~terminated] == observations[~terminated]).all()
    assert (again[terminated] < 10).all()
    for mask in ([True], np.zeros(4, bool), np.ones(4, int)):
        with pytest.raises(ArgumentError, match=r"reset_mask must be \(4,\) bool"):
            env.reset(options={"reset_mask": mask})


def test_actions_and_observations_of_other_kinds(make_env):
    spaces = gymnasium.spaces
    env = make_env(
        ECHO,
        lanes=3,
        observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float32),
        action_space=spaces.Box(-9, 9, (2,), np.float32),
    )
    env.reset(seed=1)
    actions = np.arange(6, dtype=np.float32).reshape(3, 2)
    for _ in range(3):
        observations, rewards, *_ = env.step(actions)
        assert (observations == actions).all() and (rewards == actions[:, 0]).all()
        actions = -2 * actions
    with pytest.raises(ArgumentError, match=r"actions have shape \(2, 2\); give \(3, 2\)"):
        env.step(actions[:2])


def test_what_is_returned_is_not_changed_later(make_env):
    env = make_env(lanes=4)
    first, _ = env.reset(seed=5)
    kept = first.copy()
    env.step(np.ones(4, np.int64))
    assert (first == kept).all()


@pytest.mark.parametrize(
    "then, reason, terminates",
    [
        (hlt(), StopReason.halt, True),
        (b(0), StopReason.budget, False),
        (str_w(0, 30, 0), StopReason.fault, False),
        (0, StopReason.undefined, False),
    ],
)
def test_guests_that_stop_otherwise(make_env, then, reason, terminates):
    guest = code(svc(1), movz(0, 0x8000), movz(1, 0), movz(30, 0xFFFF, 32), svc(0), then)
    env = make_env(guest, lanes=3, max_instructions=100)
    env.reset(seed=1)
    for _ in range(2):
        _, rewards, terminated, truncated, infos = env.step(np.zeros(3, np.int64))
        assert (terminated == terminates).all() and (truncated != terminates).all() and not rewards.any()
        assert (infos["stop"] == reason).all()
        _, _, terminated, truncated, infos = env.step(np.zeros(3, np.int64))  # a new episode
        assert not (terminated | truncated).any() and (infos["stop"] == StopReason.syscall).all()


def test_wrong_arguments(make_env):
    with pytest.raises(ArgumentError, match="must call SVC #1 within 1000 instructions.*stopped with halt 0"):
        make_env(code(hlt()), max_instructions=1000)
    with pytest.raises(ArgumentError, match="stopped with syscall 0"):
        make_env(code(svc(0)))
    with pytest.raises(ArgumentError, match="autoreset is 'same-step'"):
        make_env(autoreset="same-step")
    with pytest.raises(
        ArgumentError, match="observation_space must be a space with a dtype and a shape, not Dict"
    ):
        make_env(observation_space=gymnasium.spaces.Dict({"a": SPACES["observation_space"]}))
    env = make_env(code(svc(1), movz(0, 0xFFFF, 32), svc(0)))
    with pytest.raises(ArgumentError, match="the guest's observation: cannot read 4 bytes at 0xffff00000000"):
        env.reset(seed=1)
