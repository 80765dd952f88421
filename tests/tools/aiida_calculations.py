"""Runs calculations of AiiDA on this machine with the scheduler `hyperqueue`; called by aiida.sh with a directory to work in."""

import json
import shutil
import sys
import time
from pathlib import Path

from aiida import load_profile, orm
from aiida.engine import run_get_node
from aiida.plugins import CalculationFactory
from aiida.schedulers.datastructures import JobState


def expect(what, wanted, got):
    if wanted != got:
        sys.exit(f"aiida.sh: {what}: expected {wanted!r}, got {got!r}")


def add(code, x, y, **options):
    """Adds two numbers in a job of its own, which AiiDA submits, looks after and retrieves."""
    inputs = {
        "x": orm.Int(x),
        "y": orm.Int(y),
        "code": code,
        "metadata": {"options": {"resources": {"num_cpus": 2}, "max_wallclock_seconds": 600, **options}},
    }
    return run_get_node(CalculationFactory("core.arithmetic.add"), **inputs)


def jobs(scheduler):
    return {job.job_id: job.job_state for job in scheduler.get_jobs(as_dict=False)}


def main(room):
    load_profile()
    computer = orm.load_computer("hq")
    computer.set_minimum_job_poll_interval(1)
    code = orm.InstalledCode(computer=computer, filepath_executable=shutil.which("bash"), label="add").store()

    # The whole way of a calculation: script, submission, list of jobs, what it wrote.
    outputs, node = add(code, 2, 3, priority="-4")
    expect("exit status of an addition", 0, node.exit_status)
    expect("sum", 5, outputs["sum"].value)
    info = json.loads(node.get_detailed_job_info()["stdout"])[0]
    expect("state in the stored `hq job info`", "FINISHED", info["tasks"][0]["state"].upper())
    expect("name of the job", f"aiida-{node.pk}", info["info"]["name"])
    expect("what the scheduler's streams hold", ("", ""), (node.get_scheduler_stdout(), node.get_scheduler_stderr()))

    # A calculation that fails by itself: its job ends as failed, AiiDA reads what is there.
    _, node = add(code, 2, 3, prepend_text="exit 7")
    expect("a calculation whose script exits with 7 is fine", False, node.is_finished_ok)
    info = json.loads(node.get_detailed_job_info()["stdout"])[0]
    expect("state in `hq job info` of a failure", "FAILED", info["tasks"][0]["state"].upper())

    # The plugin alone: a job runs, one waits behind it, both are canceled, one twice.
    work = Path(room, "plain")
    work.mkdir()
    for name, cpus in (("run.sh", 4), ("wait.sh", 4)):
        script = work / name
        script.write_text(f"#!/bin/bash\n#HQ --cpus={cpus}\n#HQ --time-request=60s\nsleep 600\n")
    with computer.get_transport() as transport:
        scheduler = computer.get_scheduler()
        scheduler.set_transport(transport)
        first = scheduler.submit_job(str(work), "run.sh")
        end = time.monotonic() + 60
        while jobs(scheduler).get(first) is not JobState.RUNNING:
            expect("a job runs within a minute", True, time.monotonic() < end)
            time.sleep(0.2)
        second = scheduler.submit_job(str(work), "wait.sh")
        expect("jobs that are listed", {first: JobState.RUNNING, second: JobState.QUEUED}, jobs(scheduler))
        expect("whether a running job was canceled", True, scheduler.kill_job(first))
        expect("whether a waiting job was canceled", True, scheduler.kill_job(second))
        expect("jobs that are listed at the end", {}, jobs(scheduler))


main(sys.argv[1])
