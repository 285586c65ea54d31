//! Few threads, many shops, views and backups of a service.

use super::*;

/// Little of everything gives one line and exit code 1, or works.
#[test]
fn few_threads_and_small_stacks() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let program = env!("CARGO_BIN_EXE_cbwk-gpu");
    let run = |script: String, input: &str| {
        let mut child = Command::new("bash")
            .args(["-c", &script])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    };
    let small = run(
        format!("ulimit -s 64; exec {program} serve ."),
        "{\"op\":\"state\"}\n",
    );
    let text = String::from_utf8_lossy(&small.stdout).into_owned();
    assert!(
        small.status.success() && text.contains("\"ok\":true"),
        "{small:?}"
    );
    // Limits of processes do not bind the superuser: the test takes another user's place where it can.
    let user = "setpriv --reuid 65534 --clear-groups";
    let can = Command::new("bash")
        .args(["-c", &format!("{user} true")])
        .output()
        .unwrap();
    if !can.status.success() {
        return say("skipped: setpriv cannot change the user here");
    }
    let home = folder.path().display();
    run(format!("chmod -R a+rwX {home}; chmod a+rx {home}/.."), "");
    let mut refused = 0;
    let limits = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20];
    for threads in limits {
        let script = format!(
            "ulimit -u {threads}; exec timeout -s KILL 20 {user} {program} serve {home} --threads 2 --listen 127.0.0.1:0"
        );
        let limited = run(
            format!("({script}) & sleep 0.4; kill -TERM $! 2> /dev/null; wait $!"),
            "",
        );
        let text = String::from_utf8_lossy(&limited.stderr).into_owned();
        assert!(!text.contains("panicked"), "{threads} threads: {text}");
        let code = limited.status.code();
        assert_ne!(code, Some(137), "{threads} threads: it hangs");
        if code == Some(1) {
            refused += 1;
            let errors = text.lines().filter(|line| line.starts_with("error"));
            assert_eq!(errors.count(), 1, "{text}");
        }
    }
    say(&format!(
        "{refused} of {} limits refused in one line",
        limits.len()
    ));
}

#[test]
fn many_shops_come_and_go_and_harm_each_other_not() {
    let folder = tempdir().unwrap();
    for shop in ["north", "south", "west"] {
        small_shop(&folder.path().join(shop));
    }
    fs::write(folder.path().join("west/journal.jsonl"), "rubbish\n").unwrap();
    fs::create_dir(folder.path().join("no shop")).unwrap();
    let mut http = Http::start(folder.path(), &["--log", "json"]);
    let heard = said(&mut http);
    hears(&heard, "\"level\":\"error\",\"shop\":\"west\"");
    let mut client = http.client();
    let (_, list) = client.get("/v1/shops").unwrap();
    let names: Vec<_> = list["shops"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["shop"].as_str().unwrap(), s["ready"].as_bool().unwrap()))
        .collect();
    assert_eq!(names, [("north", true), ("south", true), ("west", false)]);
    let mut post = |shop: &str, op: &str, body: &str| {
        client
            .send("POST", &format!("/v1/{shop}/{op}"), "", body.as_bytes())
            .unwrap()
    };
    let day = r#"{"episode":"d","budget":5}"#;
    let customer = r#"{"id":"a","step":1,"context":{"x":0.1,"y":0.2}}"#;
    assert_eq!(post("north", "begin", day).0, 200);
    assert_eq!(post("north", "decide", customer).0, 200);
    assert_eq!(
        post("south", "decide", customer).1["error"]["code"],
        "closed"
    );
    assert_eq!(code(&post("west", "begin", day)), (503, "storage"));
    assert_eq!(code(&post("east", "begin", day)), (404, "unknown"));
    assert_eq!(
        http.client().post("begin", day.as_bytes()).unwrap().0,
        404,
        "which shop?"
    );
    assert_eq!(
        http.client().get("/readyz").unwrap().0,
        200,
        "one damaged shop takes no other away"
    );
    // One is repaired, one comes, one goes.
    assert!(cbwk_ok(folder.path(), &["repair", "west"]).starts_with("0 lines are kept"));
    small_shop(&folder.path().join("east"));
    fs::rename(folder.path().join("south"), folder.path().join(".south")).unwrap();
    fs::rename(
        folder.path().join(".south/task.toml"),
        folder.path().join(".south/task"),
    )
    .unwrap();
    let (_, scan) = http.client().send("POST", "/v1/rescan", "", b"").unwrap();
    assert_eq!(
        scan["opened"],
        serde_json::json!(["east", "west"]),
        "{scan}"
    );
    assert_eq!(scan["closed"], serde_json::json!(["south"]), "{scan}");
    assert_eq!(post("west", "begin", day).0, 200);
    assert_eq!(post("east", "begin", day).0, 200);
    assert_eq!(post("south", "begin", day).0, 404);
    assert_eq!(
        post("north", "decide", customer).0,
        200,
        "a repeated request"
    );
    let (status, metrics) = http.client().send_raw("GET", "/metrics", "", b"").unwrap();
    let metrics = String::from_utf8(metrics).unwrap();
    assert_eq!(status, 200);
    for line in [
        "cbwk_requests_total{shop=\"north\",op=\"decide\",answer=\"ok\"} 2",
        "cbwk_requests_total{shop=\"south\",op=\"decide\",answer=\"closed\"} 1",
        "cbwk_ready{shop=\"west\"} 1",
        "cbwk_units{shop=\"north\"} 5",
        "cbwk_request_seconds_count{op=\"decide\"} 3",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(
        !metrics.contains("\"a\"") && !metrics.contains("x="),
        "no ids, no contexts"
    );
    http.terminate();
    for shop in ["north", "east", "west"] {
        assert!(cbwk_ok(folder.path(), &["verify", shop]).contains("verified"));
    }
}

/// The shop's page is computed beside the answers, once per plan.
#[test]
fn decisions_do_not_wait_for_the_page() {
    let folder = tempdir().unwrap();
    slow_shop(folder.path(), 1_000, 800);
    let http = Http::start(folder.path(), &[]);
    let mut client = http.client();
    assert_eq!(
        client
            .post("begin", br#"{"episode":"one","budget":800}"#)
            .unwrap()
            .0,
        200
    );
    for n in 0..60 {
        let body = format!(r#"{{"id":"c{n}","step":1,"context":{{"x":0.{n},"y":0.5}}}}"#);
        assert_eq!(client.post("decide", body.as_bytes()).unwrap().0, 200);
        let body = format!(r#"{{"id":"c{n}","accepted":{}}}"#, n % 3 == 0);
        client.post("observe", body.as_bytes()).unwrap();
    }
    assert_eq!(client.post("end", br#"{"episode":"one"}"#).unwrap().0, 200);
    assert_eq!(
        client
            .post("begin", br#"{"episode":"two","budget":800}"#)
            .unwrap()
            .0,
        200
    );
    let mut viewer = http.client();
    let start = Instant::now();
    let (status, _) = viewer.get("/v1/view").unwrap();
    let first = start.elapsed();
    let start = Instant::now();
    assert_eq!(decide(&mut client, "now", 1).0, 200);
    let decided = start.elapsed();
    assert_eq!(status, 200);
    assert!(
        first + decided < Duration::from_millis(600),
        "view {first:?}, decide {decided:?}"
    );
    let start = Instant::now();
    let view = loop {
        let (_, view) = viewer.get("/v1/view").unwrap();
        if !view["path"].is_null() {
            break view;
        }
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "it is never computed"
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    let path = view["path"].as_array().unwrap();
    assert!(
        path.len() <= 241 && path[0] == serde_json::json!([0, 800.0]),
        "{}",
        path.len()
    );
    let units: Vec<f64> = path.iter().map(|p| p[1].as_f64().unwrap()).collect();
    assert!(
        units.windows(2).all(|w| w[1] <= w[0] + 1e-9),
        "units only fall"
    );
    assert_eq!(view["offers"]["mean"].as_array().unwrap().len(), 40);
    say(&format!(
        "the first view took {first:?}, a decision beside it {decided:?}, the numbers {:?}",
        start.elapsed()
    ));
}

/// A backup under full load, a kill, a restore: nothing that was acknowledged before the backup began is lost.
#[test]
fn a_backup_under_load_is_restored_with_all_that_was_acknowledged_before_it() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    let mut http = Http::start(&home, &[]);
    assert_eq!(begin(&mut http.client(), "d").0, 200);
    let acknowledged = Mutex::new(HashMap::new());
    let (mut before, mut total) = (HashMap::new(), 0);
    std::thread::scope(|scope| {
        let (address, all) = (http.address.clone(), &acknowledged);
        scope.spawn(move || load(&address, 8, "b", all));
        std::thread::sleep(Duration::from_millis(400));
        before = acknowledged.lock().unwrap().clone();
        let text = cbwk_ok(folder.path(), &["backup", "shop", "--to", "copies/one"]);
        assert!(text.contains("replayed from the first line"), "{text}");
        std::thread::sleep(Duration::from_millis(100));
        http.kill();
        total = acknowledged.lock().unwrap().len();
    });
    assert!(cbwk_ok(folder.path(), &["verify", "copies/one"]).contains("verified"));
    let again = cbwk(folder.path(), &["backup", "shop", "--to", "copies/one"]);
    assert_eq!(again.status.code(), Some(2), "a backup is not written over");
    fs::remove_dir_all(&home).unwrap();
    fs::create_dir(&home).unwrap();
    for entry in fs::read_dir(folder.path().join("copies/one")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), home.join(entry.file_name())).unwrap();
    }
    let http = Http::start(&home, &[]);
    let mut client = http.client();
    for (id, (body, answer)) in &before {
        let op = id.split(' ').next().unwrap();
        let (status, repeated) = client.post(op, body.as_bytes()).unwrap();
        assert_eq!(
            (status, first_answer(repeated)),
            (200, answer.clone()),
            "{id}"
        );
    }
    assert!(
        before.len() > 20 && total > before.len(),
        "there was hardly any load: {} of {total}",
        before.len()
    );
    say(&format!(
        "{} answers before the backup, all restored; {} after it",
        before.len(),
        total - before.len()
    ));
}

/// The unit for systemd, where it is installed.
#[test]
fn the_unit_is_one_that_systemd_takes() {
    let folder = tempdir().unwrap();
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/deploy/cbwk-gpu.service"
    );
    let text = fs::read_to_string(unit).unwrap();
    // The program must be there for the check.
    let text = text.replace("/usr/local/bin/cbwk-gpu", env!("CARGO_BIN_EXE_cbwk-gpu"));
    let copy = folder.path().join("cbwk-gpu.service");
    fs::write(&copy, text).unwrap();
    let Ok(checked) = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&copy)
        .output()
    else {
        return say("skipped: no systemd-analyze");
    };
    let text = String::from_utf8_lossy(&checked.stderr).into_owned();
    let about = text
        .lines()
        .filter(|line| line.contains("cbwk-gpu.service"));
    assert_eq!(about.collect::<Vec<_>>(), [""; 0], "{text}");
}
