//! A study as a Slurm job array: a script whose tasks run shards and resume after time limits, requeues and lost nodes; the
//! merge follows.

use super::runner::shell_word;

/// The parameters of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmArray {
    /// Name of the study.
    pub name: String,
    /// The study file.
    pub study: String,
    /// The folder of the results.
    pub out: String,
    /// Shards.
    pub shards: usize,
    /// Tasks of the array at the most; with more shards, each task runs several, one after another.
    pub tasks: usize,
    /// Time limit of a task, as Slurm writes it.
    pub time: String,
    /// Cores of a task.
    pub cpus: usize,
    /// Memory of a task, as Slurm writes it.
    pub memory: String,
}

impl SlurmArray {
    /// The script.
    pub fn script(&self) -> String {
        let tasks = self.tasks.min(self.shards);
        let Self {
            name,
            shards,
            time,
            cpus,
            memory,
            ..
        } = self;
        let job: String = name
            .chars()
            .map(|c| match c.is_alphanumeric() || "._-".contains(c) {
                true => c,
                false => '-',
            })
            .collect();
        let (study, out, job) = (
            shell_word(self.study.clone()),
            shell_word(self.out.clone()),
            shell_word(job),
        );
        format!(
            r#"#!/bin/bash
# {shards} shards of a study as {tasks} tasks of a job array, then their merge. Submit it from the folder that the paths start
# from: sbatch THIS-FILE. A task that ends early resumes when it starts again; nothing finished is lost or computed twice.
#SBATCH --job-name={job}
#SBATCH --array=1-{tasks}
#SBATCH --time={time}
#SBATCH --cpus-per-task={cpus}
#SBATCH --mem={memory}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@90
study={study}
out={out}
program=${{CBWK_GPU:-cbwk-gpu}}

# The first task submits the merge, which runs when all tasks have ended and names what is missing. If submitting fails, the
# next task tries.
asked=$out/.merge-$SLURM_ARRAY_JOB_ID
mkdir -p "$out"
if mkdir "$asked" 2>/dev/null; then
    sbatch --dependency=afterany:"$SLURM_ARRAY_JOB_ID" --job-name={job}-merge --time={time} --cpus-per-task={cpus} --mem={memory} \
        ${{SLURM_JOB_PARTITION:+--partition="$SLURM_JOB_PARTITION"}} ${{SLURM_JOB_ACCOUNT:+--account="$SLURM_JOB_ACCOUNT"}} \
        ${{SLURM_JOB_QOS:+--qos="$SLURM_JOB_QOS"}} --open-mode=append \
        --wrap="$(printf 'rmdir %q; exec %q merge %q --force' "$asked" "$program" "$out")" || rmdir "$asked"
fi

# USR1 comes before the time limit: the program saves its state and ends, and the task goes back into the queue.
child=
again=
trap 'again=1; [ -n "$child" ] && kill -TERM "$child"' USR1
trap '[ -n "$child" ] && kill -TERM "$child"' TERM
for ((shard = SLURM_ARRAY_TASK_ID; shard <= {shards}; shard += {tasks})); do
    # Threads follow SLURM_CPUS_PER_TASK.
    "$program" simulate "$study" --out "$out" --shard "$shard/{shards}" --resume --quiet &
    child=$!
    while wait "$child"; code=$?; kill -0 "$child" 2>/dev/null; do :; done
    child=
    if [ -n "$again" ]; then
        exec scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
    fi
    [ "$code" -eq 0 ] || exit "$code"
done
"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_shards_than_tasks_are_packed() {
        let array = SlurmArray {
            name: "it's a study".into(),
            study: "a b/study.toml".into(),
            out: "results/x".into(),
            shards: 5000,
            tasks: 1000,
            time: "04:00:00".into(),
            cpus: 2,
            memory: "4G".into(),
        };
        let script = array.script();
        for line in [
            "#SBATCH --array=1-1000",
            "#SBATCH --cpus-per-task=2",
            "study='a b/study.toml'",
            "for ((shard = SLURM_ARRAY_TASK_ID; shard <= 5000; shard += 1000)); do",
        ] {
            assert!(script.lines().any(|l| l == line), "{line} in\n{script}");
        }
        let few = SlurmArray { shards: 3, ..array };
        assert!(few.script().contains("#SBATCH --array=1-3\n"));
    }
}
