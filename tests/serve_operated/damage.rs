//! Journals that are damaged behind a snapshot, or cut.

use super::*;

/// A journal with a damaged line in the middle, whose snapshot hides it.
fn hidden_damage(folder: &Path) -> usize {
    small_shop(folder);
    let mut lines = Lines::start(folder, &[]);
    for day in 0..4 {
        lines.ask(&format!(r#"{{"op":"begin","episode":"{day}","budget":5}}"#));
        for step in 1..=8 {
            let answer = lines.ask(&format!(r#"{{"op":"decide","id":"{day}-{step}","step":{step},"context":{{"x":0.{step},"y":0.5}}}}"#));
            if answer["action"] != 0 {
                lines.ask(&format!(
                    r#"{{"op":"observe","id":"{day}-{step}","accepted":{}}}"#,
                    step % 2 == 0
                ));
            }
        }
        lines.ask(&format!(r#"{{"op":"end","episode":"{day}"}}"#));
    }
    lines.end();
    let path = folder.join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let line = text
        .lines()
        .position(|line| line.contains(r#""id":"2-3""#))
        .unwrap();
    let damaged: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, l)| {
            if i == line {
                l.replace("0.5", "0.6")
            } else {
                l.to_string()
            }
        })
        .collect();
    fs::write(&path, damaged.join("\n") + "\n").unwrap();
    line + 1
}

#[test]
fn verify_finds_damage_that_a_snapshot_hides_and_repair_says_what_is_lost() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    assert!(cbwk_ok(folder.path(), &["verify", "shop"]).contains("journal: none yet"));
    fs::remove_dir_all(&home).unwrap();
    let line = hidden_damage(&home);
    // The service starts from the snapshot, looks at the journal in the background, and says what it finds.
    let mut http = Http::start(&home, &[]);
    let heard = said(&mut http);
    hears(
        &heard,
        &format!("journal.jsonl:{line}: the line is damaged"),
    );
    let busy = cbwk(folder.path(), &["repair", "shop"]);
    assert_eq!(
        busy.status.code(),
        Some(2),
        "a folder that is served is not repaired"
    );
    http.terminate();
    let found = cbwk(folder.path(), &["verify", "shop"]);
    let text = String::from_utf8_lossy(&found.stderr).into_owned();
    assert_eq!(found.status.code(), Some(2));
    assert!(
        text.contains(&format!("journal.jsonl:{line}: the line is damaged")),
        "{text}"
    );
    let before = fs::read(home.join("journal.jsonl")).unwrap();
    let text = cbwk_ok(folder.path(), &["repair", "shop"]);
    assert!(
        text.starts_with(&format!("{} lines are kept", line - 1)),
        "{text}"
    );
    assert!(
        text.contains("1 lines cannot be read")
            && text.contains("decisions that are no longer known: 2-4"),
        "{text}"
    );
    let kept = fs::read(home.join("journal.jsonl")).unwrap();
    let aside = fs::read(home.join("journal.damaged-1.jsonl")).unwrap();
    assert_eq!([kept, aside].concat(), before);
    assert!(
        home.join("journal.damaged-1.snapshot").exists() && !home.join("journal.snapshot").exists()
    );
    let text = cbwk_ok(folder.path(), &["verify", "shop"]);
    assert!(text.contains("verified"), "{text}");
    assert!(cbwk_ok(folder.path(), &["repair", "shop"]).starts_with("nothing to repair"));
    // What is left goes on: 2-3 can be asked for again.
    let mut lines = Lines::start(&home, &[]);
    let again = lines.ask(r#"{"op":"decide","id":"2-3","step":3,"context":{"x":0.3,"y":0.5}}"#);
    assert_eq!(again["ok"], true, "{again}");
    lines.end();
    assert!(cbwk_ok(folder.path(), &["verify", "shop"]).contains("snapshot: the state after line"));
}

#[test]
fn a_journal_cut_behind_its_snapshot_is_said() {
    let folder = tempdir().unwrap();
    hidden_damage(folder.path());
    let path = folder.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let first: Vec<&str> = text.lines().take(5).collect();
    fs::write(&path, first.join("\n") + "\n").unwrap();
    let found = cbwk(folder.path(), &["verify", "."]);
    let text = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(
        found.status.code() == Some(2) && text.contains("not all here"),
        "{text}"
    );
    let mut http = Http::start(folder.path(), &[]);
    let heard = said(&mut http);
    hears(&heard, "the journal was cut or replaced");
    http.terminate();
}
