//! Folders that a kill or a bad disk has left: cut at every byte, with flipped bits.

use super::*;

#[test]
fn records_cut_at_every_byte_of_the_tail_resume_to_the_same_bytes() {
    let small = STUDY
        .replace("replications = 12", "replications = 2")
        .replace("episodes = 24", "episodes = 3");
    let small: String = small
        .split("[[policies]]")
        .take(3)
        .collect::<Vec<_>>()
        .join("[[policies]]");
    let expected = uninterrupted(&small);
    // A shard 1 of 1 has all records of the study, and keeps them.
    let folder = with_study(&small);
    cbwk_ok(
        folder.path(),
        &[&RUN[..], &["1", "--shard", "1/1"]].concat(),
    );
    let records = fs::read(folder.path().join("o/shard-1-of-1/records.jsonl")).unwrap();
    let lines: Vec<&[u8]> = records.split_inclusive(|b| *b == b'\n').collect();
    let tail: usize = lines[lines.len() - 2..].iter().map(|line| line.len()).sum();
    let merge = ["merge", "o", "--force"];
    let resume = [&RUN[..], &["1", "--shard", "1/1", "--resume"]].concat();
    let (mut refused, mut resumed) = (0, 0);
    for kept in records.len() - tail..records.len() {
        fs::write(
            folder.path().join("o/shard-1-of-1/records.jsonl"),
            &records[..kept],
        )
        .unwrap();
        // Every cut is seen before a merge; a part of them is resumed, which takes longer.
        if kept % 16 == 0 {
            assert_eq!(cbwk(folder.path(), &merge).status.code(), Some(2), "{kept}");
            refused += 1;
        }
        if kept % 8 == 0 {
            cbwk_ok(folder.path(), &resume);
            let again = fs::read(folder.path().join("o/shard-1-of-1/records.jsonl")).unwrap();
            let records_of = |bytes: &[u8]| -> Vec<String> {
                let text = String::from_utf8(bytes.to_vec()).unwrap();
                let records = text.lines().filter(|line| line.contains("{\"record\":"));
                records
                    .map(|line| line.split_once("{\"record\":").unwrap().1.to_string())
                    .collect()
            };
            assert_eq!(records_of(&again), records_of(&records), "{kept}");
            resumed += 1;
        } else {
            let log = cbwk_gpu::results::RecordLog::read(&folder.path().join("o/shard-1-of-1"))
                .unwrap()
                .unwrap();
            assert!(log.length <= kept as u64 && records[..log.length as usize].ends_with(b"\n"));
        }
    }
    cbwk_ok(folder.path(), &resume);
    cbwk_ok(folder.path(), &merge);
    assert_eq!(
        differences(&contents(&folder.path().join("o")), &expected),
        [""; 0]
    );
    say(&format!(
        "{tail} cuts of the last two lines: all read back to the last whole line, {resumed} resumed to the same records, {refused} of {refused} refused by a merge"
    ));
}

#[test]
fn a_flipped_bit_in_any_file_is_refused_or_harmless() {
    let half = half_done();
    let expected = uninterrupted(STUDY);
    let resume = [&RUN[..], &["1", "--resume"]].concat();
    let mut rng = rng(3);
    let (mut refused, mut harmless) = (0, 0);
    for name in ["records.jsonl", "wave.json", "study.toml"] {
        let bytes = fs::read(half.path().join("o").join(name)).unwrap();
        for _ in 0..10 {
            let folder = with_study(STUDY);
            copy(&half.path().join("o"), &folder.path().join("o"));
            let mut bytes = bytes.clone();
            let place = rng.random_range(0..bytes.len());
            bytes[place] ^= 1 << rng.random_range(0..8);
            fs::write(folder.path().join("o").join(name), bytes).unwrap();
            let output = cbwk(folder.path(), &resume);
            match output.status.code() {
                Some(2) => refused += 1,
                Some(0) => {
                    assert_eq!(
                        differences(&contents(&folder.path().join("o")), &expected),
                        [""; 0],
                        "{name}"
                    );
                    harmless += 1;
                }
                other => panic!(
                    "{name}: {other:?} {}",
                    String::from_utf8_lossy(&output.stderr)
                ),
            }
        }
    }
    // In a finished folder every bit counts.
    let folder = with_study(STUDY);
    cbwk_ok(folder.path(), &[&RUN[..], &["1"]].concat());
    let verify = ["verify", "o"];
    cbwk_ok(folder.path(), &verify);
    let mut seen = 0;
    let names: Vec<String> = expected.keys().cloned().collect();
    for name in &names {
        let path = folder.path().join("o").join(name);
        let good = fs::read(&path).unwrap();
        for _ in 0..4 {
            let mut bytes = good.clone();
            let place = rng.random_range(0..bytes.len());
            bytes[place] ^= 1 << rng.random_range(0..8);
            fs::write(&path, bytes).unwrap();
            let output = cbwk(folder.path(), &verify);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            seen += 1;
        }
        fs::write(&path, good).unwrap();
    }
    cbwk_ok(folder.path(), &verify);
    say(&format!(
        "flipped bits under way: {refused} refused, {harmless} harmless, 0 wrong; in the {} files of a finished folder: {seen} of {seen} seen",
        names.len()
    ));
}
