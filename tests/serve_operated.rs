//! What happens to a service in operation: files that are taken away, slow plans and silent clients, damaged journals, little
//! of everything, and many shops.

#[path = "serve_operated/care.rs"]
mod care;
mod common;
#[path = "serve_operated/damage.rs"]
mod damage;
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
