//! Whole studies: the paper's, cut short, and one whose sample never stops growing.

use std::hint::black_box;
use std::path::Path;

use cbwk_gpu::config::{Document, Study, preset};
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment;
use criterion::Criterion;

use crate::Group;

/// A preset with other numbers of episodes and replications, Mimic-Opt-DP only.
fn short(name: &str, episodes: u64, replications: u64) -> Study {
    let text = preset(name).expect("a preset").text;
    let mut document = Document::parse(Path::new(name), text).expect("a valid preset");
    document.set_whole("study", "episodes", episodes, "bench");
    document.set_whole("study", "replications", replications, "bench");
    document.choose_policies(&["mimic-opt-dp".into()], "bench");
    Study::from_document(&document).expect("a valid study")
}

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "study");
    let threads = rayon::current_num_threads();
    for (name, lengths) in [
        ("paper-auction", [200, 2000]),
        ("paper-pricing", [100, 400]),
    ] {
        let mut per_episode = Vec::new();
        for episodes in lengths {
            let study = short(name, episodes, 4);
            let best = group.best(&format!("{name}-T{episodes}-R4"), threads, || {
                black_box(experiment::run(&study, &mut Cpu::default(), &mut ()).expect("a run"));
            });
            per_episode.extend(best.map(|seconds| 1e6 * seconds / (4 * episodes) as f64));
        }
        if let [short, long] = per_episode[..] {
            lines.push(format!(
                "{name}: {short:.1} us per episode at T = {}, {long:.1} at T = {}",
                lengths[0], lengths[1]
            ));
        }
    }
}
