//! Missing folders, and folders with damaged files.

use super::*;

/// Wrong folders and damaged files: one line that names the file, exit code 2, and no report.
#[test]
fn wrong_folders_and_damaged_files_are_named() {
    let folder = tempdir().unwrap();
    simulate_auction(folder.path(), "--out o --replications 2 --episodes 4");
    fs::create_dir(folder.path().join("empty")).unwrap();
    let fails = |args: &[&str], start: &str| {
        let output = cbwk(folder.path(), args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(
            stderr.starts_with(&format!("error: {start}")),
            "{args:?}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(!folder.path().join("o/report.html").exists());
    };
    fails(&["report"], "the following required arguments");
    fails(&["report", "nowhere"], "nowhere: cannot be read");
    fails(&["report", "o/run.json"], "o/run.json: cannot be read");
    fails(
        &["report", "empty"],
        "empty: not a results folder: run.json is missing; accepted: ",
    );
    fails(&["report", "o", "./o"], "./o: the same folder twice");
    fails(
        &["report", "o", "--out", "o/run.json/x"],
        "o/run.json/x: cannot be written",
    );
    for (file, from, to, message) in [
        (
            "summary.csv",
            "policy,episode,mean",
            "policy,episode,men",
            ":1: column `mean`: found header ",
        ),
        (
            "summary.csv",
            "myopic,2,",
            "myopic,2,x",
            ":11: column `mean`: found `x",
        ),
        (
            "summary.csv",
            "myopic,2,",
            "myopic,5,",
            ":11: column `episode`: found `5`; accepted: 2",
        ),
        (
            "summary.csv",
            "myopic,2,",
            "stranger,1,",
            "run.json: policies: found nothing; accepted: an entry",
        ),
        (
            "summary.csv",
            "myopic,4,",
            "myopic,4,1,",
            ":13: found 7 columns; accepted: 6",
        ),
        (
            "steps.csv",
            "random,25,",
            "random,26,",
            ":101: column `step`: found `26`; accepted: 25",
        ),
        (
            "steps.csv",
            "random,1,",
            "nobody,1,",
            ":77: column `policy`: found `nobody`; accepted: a policy",
        ),
        (
            "actions.csv",
            "myopic,3,2,",
            "myopic,3,1,",
            ": column `budget`: found `1`; accepted: rising",
        ),
        (
            "actions.csv",
            "myopic,2,1,",
            "myopic,1,6,",
            ": column `budget`",
        ),
        (
            "run.json",
            "\"horizon\": 24",
            "\"horizon\": -1",
            ": horizon: found -1; accepted: a whole number from 1",
        ),
        ("run.json", "\"seed\": 1,", "\"seed\": 1", ":5: "),
        ("study.toml", "kind = \"auction\"", "kind = ", ":"),
        (
            "study.toml",
            "name = \"paper-auction\"",
            "",
            ": study.name: found no text",
        ),
    ] {
        let path = folder.path().join("o").join(file);
        let sound = read(&path);
        assert!(sound.contains(from), "{from:?} is not in {file}");
        fs::write(&path, sound.replacen(from, to, 1)).unwrap();
        let start = if message.starts_with("run.json") {
            "o/".into()
        } else {
            format!("o/{file}")
        };
        let output = cbwk(folder.path(), &["report", "o"]);
        let stderr = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(output.status.code(), Some(2), "{file} {to:?}: {stderr}");
        assert!(stderr.starts_with(&format!("error: {start}")), "{stderr}");
        assert!(stderr.contains(message), "{file} {to:?}: {stderr}");
        fs::write(&path, sound).unwrap();
    }
    // Truncated.
    for file in ["summary.csv", "steps.csv", "actions.csv"] {
        let path = folder.path().join("o").join(file);
        let sound = read(&path);
        let lines: Vec<&str> = sound.lines().collect();
        fs::write(&path, lines[..lines.len() - 1].join("\n")).unwrap();
        fails(&["report", "o"], &format!("o/{file}: policy `"));
        fs::write(&path, sound).unwrap();
    }
    let path = folder.path().join("o/episodes.csv");
    let sound = read(&path);
    fs::write(&path, sound.lines().take(3).collect::<Vec<_>>().join("\n")).unwrap();
    let message = "o/episodes.csv: found 2 lines; accepted: 4 and more";
    fails(&["report", "o"], message);
    fs::write(&path, sound).unwrap();
    // A number that no study writes, which nothing can draw, and a file that was changed since.
    let path = folder.path().join("o/summary.csv");
    let sound = read(&path);
    let line = sound.lines().find(|l| l.starts_with("myopic,4,")).unwrap();
    let mean = line.split(',').nth(2).unwrap();
    let other = |mean: &str, to: &str| {
        sound.replace(&format!("myopic,4,{mean}"), &format!("myopic,4,{to}"))
    };
    fs::write(&path, other(mean, "1e308")).unwrap();
    fails(
        &["report", "o"],
        "o/summary.csv:13: column `mean`: found `1e308`; accepted: ",
    );
    fs::write(&path, other(mean, "0.5")).unwrap();
    fails(
        &["report", "o"],
        "o/summary.csv: found another content than the study wrote",
    );
    fs::write(&path, sound).unwrap();
    // A page is HTML; a folder may be called anything.
    let message = "--out: found x.pdf; accepted: FILE.html, or a folder (`x.pdf/`)";
    fails(&["report", "o", "--out", "x.pdf"], message);
    assert!(!folder.path().join("x.pdf").exists());
    cbwk_ok(folder.path(), &["report", "o", "--out", "x.pdf/"]);
    cbwk_ok(folder.path(), &["report", "o", "--out", "v0.5"]);
    assert!(folder.path().join("x.pdf/report.html").is_file());
    assert!(folder.path().join("v0.5/report.html").is_file());
    // Folders of versions that did not write these two files are still reported.
    fs::remove_file(folder.path().join("o/steps.csv")).unwrap();
    fs::remove_file(folder.path().join("o/actions.csv")).unwrap();
    let said = cbwk_ok(folder.path(), &["report", "o", "--out", "elsewhere"]);
    assert!(
        said.contains("elsewhere/report.html") && !said.contains("offers"),
        "{said}"
    );
}
