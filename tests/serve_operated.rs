//! What happens to a service in operation: files that are taken away, slow plans and silent clients, damaged journals, little
//! of everything, and many shops.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{cbwk, cbwk_ok, say};
use serde_json::Value;
use served::{
    ARMED, Client, Http, Lines, begin, command, first_answer, journal, load, small_shop,
    task_folder,
};
use tempfile::tempdir;

/// What a process says on standard error, as it says it.
fn said(http: &mut Http) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let (stderr, heard) = (http.child.stderr.take().unwrap(), Arc::clone(&text));
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            *heard.lock().unwrap() += &format!("{line}\n");
        }
    });
    text
}

/// Waits until a text was said.
fn hears(text: &Mutex<String>, part: &str) {
    let start = Instant::now();
    while !text.lock().unwrap().contains(part) {
        let heard = text.lock().unwrap().clone();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{part:?} is not in {heard:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn decide(client: &mut Client, id: &str, step: usize) -> (u16, Value) {
    let body = format!(r#"{{"id":"{id}","step":{step},"context":{{"x":0.1,"y":0.2}}}}"#);
    client.post("decide", body.as_bytes()).unwrap()
}

fn code(answer: &(u16, Value)) -> (u16, &str) {
    (
        answer.0,
        answer.1["error"]["code"].as_str().unwrap_or("none"),
    )
}

#[test]
fn a_journal_that_is_taken_away_is_noticed_at_once() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage, bool); 4] = [
        (
            "renamed or removed",
            |p| fs::rename(p, p.with_extension("1")).unwrap(),
            true,
        ),
        ("renamed or removed", |p| fs::remove_file(p).unwrap(), false),
        (
            "another file has taken its place",
            |p| {
                fs::rename(p, p.with_extension("1")).unwrap();
                fs::copy(p.with_extension("1"), p).unwrap();
            },
            true,
        ),
        (
            "another program changed it",
            |p| {
                OpenOptions::new()
                    .write(true)
                    .open(p)
                    .unwrap()
                    .set_len(10)
                    .unwrap();
            },
            false,
        ),
    ];
    for (message, damage, can_be_undone) in damages {
        let folder = tempdir().unwrap();
        small_shop(folder.path());
        let mut http = Http::start(folder.path(), &[]);
        let heard = said(&mut http);
        let mut client = http.client();
        assert_eq!(begin(&mut client, "d").0, 200);
        assert_eq!(decide(&mut client, "a", 1).0, 200);
        let path = folder.path().join("journal.jsonl");
        damage(&path);
        let refused = decide(&mut client, "b", 1);
        assert_eq!(code(&refused), (503, "storage"), "{message}");
        assert!(refused.1.to_string().contains(message), "{}", refused.1);
        hears(&heard, message);
        // No second service may take the folder, and the state can still be read.
        assert_eq!(client.get("/v1/state").unwrap().0, 200);
        assert_eq!(client.get("/readyz").unwrap().0, 503);
        assert_eq!(client.get("/livez").unwrap().0, 200);
        let second = cbwk(folder.path(), &["serve", ".", "--listen", "127.0.0.1:0"]);
        assert_eq!(second.status.code(), Some(2));
        let second = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(
            second.contains("another process has this journal"),
            "{second}"
        );
        if can_be_undone {
            fs::rename(path.with_extension("1"), &path).unwrap();
            assert_eq!(decide(&mut client, "c", 2).0, 200);
            hears(&heard, "the journal is written again");
            http.terminate();
            let ids = journal(folder.path());
            let ids: Vec<_> = ids.iter().filter_map(|r| r["id"].as_str()).collect();
            assert_eq!(
                ids,
                ["a", "c"],
                "a refused request must not be in the journal"
            );
        }
    }
}

/// Also without requests, by the regular look at all journals.
#[test]
fn a_shop_whose_journal_is_gone_stops_being_ready() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut http = Http::start(folder.path(), &[]);
    let heard = said(&mut http);
    assert_eq!(http.client().get("/readyz").unwrap().0, 200);
    fs::remove_file(folder.path().join("journal.jsonl")).unwrap();
    hears(&heard, "renamed or removed");
    assert_eq!(http.client().get("/readyz").unwrap().0, 503);
}

/// A shop whose plans take seconds.
fn slow_shop(folder: &Path, steps: usize, units: u32) {
    let prices: Vec<f64> = (1..=40).map(f64::from).collect();
    task_folder(folder, steps, units, &prices, &["x", "y"], ARMED);
}

/// Waiting for a plan is no fault of the client: it gets its answer, and so does a late outcome behind it.
#[test]
fn a_request_that_waits_for_a_plan_longer_than_ten_seconds_is_answered() {
    let folder = tempdir().unwrap();
    slow_shop(folder.path(), 1_500, 1_500);
    let http = Http::start(folder.path(), &["--threads", "1"]);
    let mut client = http.client();
    let mut day = |name: &str| {
        let body = format!(r#"{{"episode":"{name}","budget":1500}}"#);
        client.post("begin", body.as_bytes()).unwrap()
    };
    assert_eq!(day("one").0, 200);
    let mut other = http.client();
    for n in 0..300 {
        let x = f64::from(n) / 300.0;
        let body = format!(
            r#"{{"id":"c{n}","step":{},"context":{{"x":{x},"y":0.5}}}}"#,
            n + 1
        );
        assert_eq!(other.post("decide", body.as_bytes()).unwrap().0, 200);
        if n > 0 {
            let body = format!(r#"{{"id":"c{n}","accepted":{}}}"#, n % 3 == 0);
            assert_eq!(other.post("observe", body.as_bytes()).unwrap().0, 200);
        }
    }
    assert_eq!(other.post("end", br#"{"episode":"one"}"#).unwrap().0, 200);
    let waiting = [
        ("begin", r#"{"episode":"two","budget":1500}"#),
        ("observe", r#"{"id":"c0","accepted":false}"#),
    ];
    let waiting = waiting.map(|(op, body)| {
        let mut client = http.client();
        std::thread::sleep(Duration::from_millis(20));
        std::thread::spawn(move || client.post(op, body.as_bytes()).map(|answer| answer.0))
    });
    std::thread::sleep(Duration::from_millis(30));
    // The process stands still for longer than the limit on receiving, as if the plan took so long.
    let signal = |name: &str| {
        let pid = http.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(11));
    signal("-CONT");
    let start = Instant::now();
    for answer in waiting {
        assert_eq!(answer.join().unwrap().unwrap(), 200);
    }
    let waited = 11.0 + start.elapsed().as_secs_f64();
    say(&format!("begin and a late outcome waited {waited:.1} s"));
}

/// 560 connections that say nothing, and 100 that say it slowly: others are served at once, and the silent ones leave.
#[test]
fn silent_connections_shut_nobody_out() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    fs::write(folder.path().join("token"), "0123456789abcdef\n").unwrap();
    let token = folder.path().join("token");
    let http = Http::start(folder.path(), &["--token-file", token.to_str().unwrap()]);
    let mut silent: Vec<TcpStream> = Vec::new();
    for n in 0..660 {
        let mut stream = TcpStream::connect(&http.address).unwrap();
        if n % 7 == 0 {
            let _ = stream.write_all(b"GET /v1/state HTTP/1.1\r\nHost: loc");
        }
        silent.push(stream);
    }
    let start = Instant::now();
    let mut client = http.client();
    let header = "Authorization: bearer 0123456789abcdef\r\n";
    let mut state = || client.send("GET", "/v1/state", header, b"").unwrap().0;
    assert_eq!(state(), 200);
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    // The last silent one is closed within seconds.
    let last = silent.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let _ = last.read_to_end(&mut Vec::new());
    assert!(
        start.elapsed() < Duration::from_secs(9),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(state(), 200, "a known client keeps its connection");
}

#[test]
fn keys_have_roles_and_shops_and_may_be_written_in_any_letters() {
    let folder = tempdir().unwrap();
    for shop in ["north", "south"] {
        small_shop(&folder.path().join(shop));
    }
    let keys = "# keys\nread reading-key-0123456\ndecide deciding-key-01234 north\nmanage schlüssel-für-alles-12\n";
    let file = folder.path().join("keys");
    fs::write(&file, keys).unwrap();
    let http = Http::start(folder.path(), &["--token-file", file.to_str().unwrap()]);
    let mut client = http.client();
    let mut ask = |method: &str, path: &str, token: &str, body: &str| {
        let header = format!("Authorization: BEARER {token}\r\n");
        client
            .send(method, path, &header, body.as_bytes())
            .unwrap()
            .0
    };
    let day = r#"{"episode":"d","budget":5}"#;
    assert_eq!(
        ask("GET", "/v1/north/state", "reading-key-0123456", ""),
        200
    );
    assert_eq!(
        ask("POST", "/v1/north/begin", "reading-key-0123456", day),
        403
    );
    assert_eq!(
        ask("POST", "/v1/north/begin", "deciding-key-01234", day),
        200
    );
    assert_eq!(
        ask("POST", "/v1/south/begin", "deciding-key-01234", day),
        403
    );
    assert_eq!(ask("POST", "/v1/rescan", "reading-key-0123456", ""), 403);
    assert_eq!(ask("GET", "/metrics", "reading-key-0123456", ""), 200);
    assert_eq!(ask("GET", "/metrics", "nobody", ""), 401);
    assert_eq!(ask("GET", "/readyz", "nobody", ""), 200);
    let mut utf8 = http.client();
    let header = "Authorization: Bearer schlüssel-für-alles-12\r\n";
    assert_eq!(
        utf8.send("GET", "/v1/south/state", header, b"").unwrap().0,
        200
    );
    // Python's http.client and others write it in Latin-1.
    let mut latin = TcpStream::connect(&http.address).unwrap();
    let head =
        format!("GET /v1/south/state HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n");
    let bytes: Vec<u8> = head.chars().map(|c| u8::try_from(c).unwrap()).collect();
    latin.write_all(&bytes).unwrap();
    let mut answer = String::new();
    latin.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for (wrong, message) in [
        ("short\n", "keys:1: found a token of 5 bytes"),
        (
            "\nboss 0123456789abcdef\n",
            "keys:2: found another role; accepted: read, decide or manage",
        ),
        ("# nothing\n", "found no token"),
    ] {
        fs::write(&file, wrong).unwrap();
        let refused = cbwk(
            folder.path(),
            &[
                "serve",
                ".",
                "--listen",
                "127.0.0.1:0",
                "--token-file",
                "keys",
            ],
        );
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            refused.status.code() == Some(2) && said.contains(message),
            "{said}"
        );
    }
}

#[test]
fn its_own_loopback_address_is_a_host_it_accepts() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let http = Http::wait(
        command(folder.path(), &["--listen", "127.0.0.2:0"])
            .spawn()
            .unwrap(),
    );
    assert!(http.address.starts_with("127.0.0.2:"));
    assert_eq!(http.client().get("/v1/state").unwrap().0, 200);
    // Another name, as after a rebinding of DNS.
    let mut other = TcpStream::connect(&http.address).unwrap();
    other
        .write_all(b"GET /v1/state HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

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
