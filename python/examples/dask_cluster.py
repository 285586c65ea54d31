"""A study on a cluster of this machine's processes; on a real one only the first lines of main change."""

import sys

import cbwk
from dask.distributed import Client, LocalCluster


def main():
    small = "--small" in sys.argv
    replications = 6 if small else 200
    study = cbwk.Study.preset("paper-auction")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        there = study.run(replications=replications, executor=client.get_executor())
    here = study.run(replications=replications)
    assert (there.episodes["reward"] == here.episodes["reward"]).all()
    print(there)


if __name__ == "__main__":
    main()
