"""Studies on executors give the bytes of a study that runs here."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cbwk
import pytest
from test_own import Armed, First
from test_study import SMALL, same_files

POLICIES = ["tight-opt-dp", "clairvoyant", First, {"kind": "mimic-opt-dp", "name": "own", "oracle": Armed}]


def expected(tmp_path):
    study = cbwk.Study.from_dict(SMALL)
    results = study.run(replications=7, policies=POLICIES, out=tmp_path / "here")
    return study, results


def check(results, expected, tmp_path):
    same_files(tmp_path / "here", tmp_path / "there")
    assert results.final_regret() == expected.final_regret()
    names = [(policy["name"], policy.get("warnings"), policy.get("bounds")) for policy in results.run["policies"]]
    assert names == [(policy["name"], policy.get("warnings"), policy.get("bounds")) for policy in expected.run["policies"]]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {method}")
    study, here = expected(tmp_path)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as executor:
        there = study.run(replications=7, policies=POLICIES, out=tmp_path / "there", executor=executor)
    check(there, here, tmp_path)


def test_threads(tmp_path):
    study, here = expected(tmp_path)
    told = []
    with ThreadPoolExecutor(3) as executor:
        there = study.run(
            replications=7, policies=POLICIES, out=tmp_path / "there", executor=executor, progress=lambda *x: told.append(x)
        )
    check(there, here, tmp_path)
    assert told[-1] == (7, 7)


@pytest.mark.filterwarnings("ignore")
def test_dask(tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    study, here = expected(tmp_path)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path / "dask")
    )
    with cluster, distributed.Client(cluster) as client:
        executor = client.get_executor()
        there = study.run(replications=7, policies=POLICIES, out=tmp_path / "there", executor=executor)
    check(there, here, tmp_path)


class Unlucky(cbwk.Policy):
    def choose(self, replication, step, context, budget):
        raise OverflowError("unlucky")


def test_a_mistake_in_a_worker_comes_back(tmp_path):
    with ThreadPoolExecutor(2) as executor, pytest.raises(OverflowError):
        cbwk.Study.from_dict(SMALL).run(policies=[Unlucky], executor=executor)


class Never(ThreadPoolExecutor):
    def submit(self, *arguments):
        raise AssertionError("nothing should be computed")


def test_an_occupied_folder_is_refused_before_anything_is_computed(tmp_path):
    study = cbwk.Study.from_dict(SMALL)
    study.run(out=tmp_path / "out")
    with Never(1) as executor, pytest.raises(ValueError, match="already holds results"):
        study.run(out=tmp_path / "out", executor=executor)
