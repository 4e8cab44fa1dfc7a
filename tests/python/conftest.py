# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests share: the device that MYRIARM_TEST_DEVICE names, and the profile of hypothesis
(MYRIARM_TEST_PROFILE=thorough searches long, with new examples each time)."""

import os

import pytest
from hypothesis import HealthCheck, settings

# `make test` tries the same examples each time, without deadlines, because machines differ in speed.
_common = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("make-test", max_examples=25, derandomize=True, **_common)
settings.register_profile("thorough", max_examples=500, print_blob=True, **_common)
settings.load_profile(os.environ.get("MYRIARM_TEST_PROFILE", "make-test"))


@pytest.fixture(scope="session")
def device():
    """The device under test: that of MYRIARM_TEST_DEVICE, by default "cpu"."""
    return os.environ.get("MYRIARM_TEST_DEVICE", "cpu")


@pytest.fixture(scope="session")
def on_cuda(device):
    return device.startswith("cuda")


@pytest.fixture
def make_fleet(device):
    """A function that makes fleets on the device under test; they are closed when the test has ended."""
    import myriarm

    made = []

    def make(program, **options):
        options.setdefault("device", device)
        if isinstance(program, bytes):
            options.setdefault("memory", 64 << 10)
        fleet = myriarm.Fleet(program, **options)
        made.append(fleet)
        return fleet

    yield make
    for fleet in made:
        fleet.close()


@pytest.fixture(autouse=True, scope="session")
def own_translation_cache(tmp_path_factory):
    """The tests neither use nor fill the cache of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYRIARM_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "translations"))
        yield
