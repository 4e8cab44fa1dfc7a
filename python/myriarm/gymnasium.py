# SPDX-License-Identifier: Apache-2.0
"""Guests as environments of Gymnasium (https://gymnasium.farama.org): VectorEnv has one in each lane of a
fleet, Env has one alone. Needs the package gymnasium: pip install myriarm[gymnasium].

The guest is a bare program that speaks to the agent by two system calls:

SVC #1 asks for a seed, once, when the guest is ready to begin an episode: x0 becomes 64 random bits. Every
episode begins here: the lanes are saved at this call, and a reset restores them.

SVC #0 asks for an action. Before it the guest puts the address of the observation into x0 (its bytes are
those of dtype and shape of the observation space, little-endian), 0 into x1, or 1 if the episode has
terminated, or 2 if it is truncated, and the reward for the last action, a double, into d0. An action of a
Discrete space is then in x0, as an integer; one of another space is at the address that was in x2, as dtype
and shape of the action space say.

A guest that stops in another way ends its episode: HLT terminates it, anything else (a fault, a spent budget)
truncates it. The observation is then the last one, and infos["stop"] has the StopReason."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, Union

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .arguments import integer, kind
from .enums import StopReason
from .errors import ArgumentError, StateError
from .fleet import Fleet
from .program import Program

Array = npt.NDArray[Any]
Infos = Dict[str, Any]

ASK_ACTION, ASK_SEED = 0, 1
_TERMINATED, _TRUNCATED = 1, 2


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """One environment in each lane of a fleet.

    program: a Program or bytes, as of Fleet. lanes: num_envs. observation_space, action_space: of one lane;
    the first is a Box, Discrete, MultiDiscrete or MultiBinary. max_instructions: a lane that executes more
    of them between two system calls is truncated. autoreset: "next-step" (the call of step() after the end of
    an episode begins a new one and ignores the action), or "disabled" (reset() with
    options={"reset_mask": ...} does). The other options are those of Fleet.

    step() gives (observations, rewards, terminations, truncations, infos): rewards (lanes,) float64,
    terminations and truncations (lanes,) bool, infos["stop"] (lanes,) uint8 of StopReason, `syscall` for
    those that go on."""

    def __init__(
        self,
        program: Union[Program, bytes],
        lanes: int,
        *,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        max_instructions: int = 10_000_000,
        autoreset: str = "next-step",
        **options: Any,
    ) -> None:
        modes = {"next-step": AutoresetMode.NEXT_STEP, "disabled": AutoresetMode.DISABLED}
        if autoreset not in modes:
            raise ArgumentError(f"autoreset is {autoreset!r}; use one of {', '.join(modes)}")
        for name, space in (("observation_space", observation_space), ("action_space", action_space)):
            if not isinstance(space, gymnasium.Space) or space.dtype is None or space.shape is None:
                raise ArgumentError(f"{name} must be a space with a dtype and a shape, not {kind(space)}")
        self._limit = integer(max_instructions, "max_instructions", 1)
        self.fleet = Fleet(program, lanes=lanes, **options)
        """the fleet; its registers and memory may be read between two steps"""
        self.num_envs = self.fleet.lanes
        self.metadata = {"autoreset_mode": modes[autoreset]}
        self.single_observation_space, self.single_action_space = observation_space, action_space
        self.observation_space = batch_space(observation_space, self.num_envs)
        self.action_space = batch_space(action_space, self.num_envs)
        self._dtype = np.dtype(observation_space.dtype).newbyteorder("<")
        self._bytes = self._dtype.itemsize * int(np.prod(observation_space.shape, dtype=np.int64))
        self._observations = np.zeros((self.num_envs, *observation_space.shape), self._dtype)
        self._action_at: npt.NDArray[np.uint64] = np.zeros(self.num_envs, np.uint64)
        self._ended: Array = np.ones(self.num_envs, bool)
        self._seeds = np.zeros(self.num_envs, np.uint64)
        self._is_reset = False
        self._go_to_the_seed()
        self._start = self.fleet.snapshot()

    def _go_to_the_seed(self) -> None:
        self.fleet.run(self._limit)
        stops = self.fleet.stops
        wrong = np.flatnonzero((stops["reason"] != StopReason.syscall) | (stops["detail"] != ASK_SEED))
        if wrong.size:
            lane = int(wrong[0])
            reason, detail = StopReason(int(stops["reason"][lane])).name, int(stops["detail"][lane])
            self.fleet.close()
            raise ArgumentError(
                f"the guest must call SVC #{ASK_SEED} within {self._limit} instructions, where its episodes"
                f" begin; lane {lane} stopped with {reason} {detail}"
            )

    # The calls of Gymnasium.
    def reset(
        self,
        *,
        seed: Union[None, int, Sequence[Optional[int]]] = None,
        options: Optional[Dict[str, Any]] = None,
    ) -> Tuple[Array, Infos]:
        """Begins an episode in every lane, or in those of options["reset_mask"], (lanes,) bool. seed: lane i
        gets a sequence of seeds for its episodes that depends on seed + i, or on seed[i]; None goes on with
        the sequences that are there. Gives (observations, infos)."""
        mask: Array = np.ones(self.num_envs, bool)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
                wanted = f"({self.num_envs},) bool, not all False"
                raise ArgumentError(f"reset_mask must be {wanted}; it is {mask.dtype} {mask.shape}")
        self._seed(seed, mask)
        self._run(mask, None)
        self._is_reset = True
        return self._observed(), self._infos

    def step(self, actions: Any) -> Tuple[Array, Array, Array, Array, Infos]:
        """Each lane executes from its action to its next one. Gives (observations, rewards, terminations,
        truncations, infos)."""
        if not self._is_reset:
            raise StateError("no episode has begun; call reset() before step()")
        chosen = np.asarray(actions)
        if chosen.shape != self.action_space.shape:
            raise ArgumentError(f"actions have shape {chosen.shape}; give {self.action_space.shape}")
        ended = self._ended.copy()
        if self.metadata["autoreset_mode"] == AutoresetMode.DISABLED and ended.any():
            raise StateError(
                f"the episode of lane {int(np.argmax(ended))} has ended; call reset() with a reset_mask"
            )
        self._run(ended, chosen)
        return self._observed(), self._rewards, self._terminated, self._truncated, self._infos

    def close_extras(self, **keywords: Any) -> None:
        self.fleet.close()

    # Underneath.
    def _seed(self, seed: Any, mask: Array) -> None:
        """Sets the state of each lane's sequence of seeds."""
        if seed is None:
            if self._is_reset:
                return
            seed = int(self.np_random.integers(2**63))
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
            given = [int(seed) + lane for lane in range(self.num_envs)]
        else:
            given = list(seed)
            if len(given) != self.num_envs:
                raise ArgumentError(f"seed has {len(given)} elements for {self.num_envs} lanes")
        for lane in np.flatnonzero(mask):
            if given[lane] is not None:
                self._seeds[lane] = _mixed(np.uint64(given[lane] % 2**64))

    def _run(self, begin: Array, actions: Optional[Array]) -> None:
        """Begins an episode in the lanes of `begin`, gives the others their actions, if there are any, and
        runs them until each asks for the next one."""
        fleet = self.fleet
        run = begin if actions is None else np.ones(self.num_envs, bool)
        if begin.any():
            lanes = np.flatnonzero(begin)
            fleet.restore(self._start, lanes)
            with np.errstate(over="ignore"):
                self._seeds[lanes] += _GOLDEN
                fleet.x[lanes, 0] = _mixed(self._seeds[lanes])
        if actions is not None:
            self._give(actions, ~begin)
        all_run = bool(run.all())
        fleet.resume(None if all_run else np.flatnonzero(run))
        fleet.run(self._limit, go_on=False)
        stops = fleet.stops
        asks = (stops["reason"] == StopReason.syscall) & (stops["detail"] == ASK_ACTION) & run
        x1 = fleet.x[:, 1]
        self._terminated = asks & (x1 & _TERMINATED != 0) | run & (stops["reason"] == StopReason.halt)
        self._truncated = asks & (x1 & _TRUNCATED != 0) | run & ~asks & (stops["reason"] != StopReason.halt)
        self._rewards = np.where(asks & ~begin, fleet.v[:, 0, 0].view(np.float64), 0.0)
        self._ended = np.where(run, self._terminated | self._truncated, self._ended)
        self._infos: Infos = {"stop": stops["reason"].copy(), "_stop": np.ones(self.num_envs, bool)}
        self._look(asks)

    def _give(self, actions: Array, lanes: Array) -> None:
        if isinstance(self.single_action_space, gymnasium.spaces.Discrete):
            words = actions.astype(np.int64).view(np.uint64)
            if lanes.all():
                self.fleet.x[:, 0] = words
            elif lanes.any():
                self.fleet.x[np.flatnonzero(lanes), 0] = words[lanes]
            return
        space = self.single_action_space
        rows = np.ascontiguousarray(actions, np.dtype(space.dtype).newbyteorder("<")).reshape(
            self.num_envs, -1
        )
        chosen = np.flatnonzero(lanes)
        if chosen.size:
            self.fleet.write(self._action_at[chosen], rows.view(np.uint8)[chosen], chosen)

    def _look(self, asks: Array) -> None:
        """Reads the observations of the lanes that ask for an action. A lane whose observation is not mapped
        ends its episode."""
        lanes = np.flatnonzero(asks)
        if not lanes.size:
            return
        chosen = None if lanes.size == self.num_envs else lanes
        x = self.fleet.x[asks, :3] if chosen is not None else self.fleet.x[:, :3]
        try:
            rows = self.fleet.read(x[:, 0], self._bytes, chosen)
        except ArgumentError as error:
            raise ArgumentError(f"the guest's observation: {error}") from None
        self._action_at[lanes] = x[:, 2]
        self._observations[lanes] = rows.view(self._dtype).reshape(
            (lanes.size, *self._observations.shape[1:])
        )

    def _observed(self) -> Array:
        # A copy: what the caller keeps must not change.
        return self._observations.astype(self.observation_space.dtype)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(words: Any) -> Any:
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014): neighbours become unlike."""
    with np.errstate(over="ignore"):
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


class Env(gymnasium.Env):  # type: ignore[misc]
    """One environment: a VectorEnv of one lane, whose options it takes."""

    def __init__(self, program: Union[Program, bytes], **options: Any) -> None:
        self._lanes = VectorEnv(program, 1, autoreset="disabled", **options)
        self.observation_space = self._lanes.single_observation_space
        self.action_space = self._lanes.single_action_space

    @property
    def fleet(self) -> Fleet:
        """The fleet of one lane underneath."""
        return self._lanes.fleet

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Any, Infos]:
        super().reset(seed=seed)
        observations, infos = self._lanes.reset(seed=seed)
        return self._one(observations), {"stop": int(infos["stop"][0])}

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Infos]:
        batch = np.asarray(action)[np.newaxis]
        observations, rewards, terminated, truncated, infos = self._lanes.step(batch)
        return (
            self._one(observations),
            float(rewards[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {"stop": int(infos["stop"][0])},
        )

    def _one(self, observations: Array) -> Any:
        return observations[0] if observations.ndim > 1 else observations.dtype.type(observations[0])

    def close(self) -> None:
        self._lanes.close()


__all__ = ["ASK_ACTION", "ASK_SEED", "Env", "VectorEnv"]
