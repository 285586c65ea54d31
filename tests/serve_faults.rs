//! The service killed, starved of disk, and fed with rubbish. `CBWK_KILLS` and `CBWK_RUBBISH` set other counts.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::say;
use rand::RngExt;
use serde_json::Value;
use served::{Client, Http, Lines, begin, first_answer, journal, load, small_shop};
use tempfile::tempdir;

/// A number from the environment, for longer runs.
fn count(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(default)
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill() {
    killed_under_load(count("CBWK_KILLS", 100), &[]);
}

/// Without sync, the receiving thread answers. A kill of the program, unlike a crash of the machine, loses nothing.
#[test]
fn nothing_is_lost_by_a_kill_without_sync_either() {
    killed_under_load(count("CBWK_KILLS", 100) / 5, &["--sync", "none"]);
}

/// Killed at random moments under load: every acknowledged request is in the journal once, with the same answer, and the
/// decisions are those of an undisturbed service.
fn killed_under_load(kills: usize, args: &[&str]) {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    let mut rng = common::rng(11);
    let mut asked_again = 0;
    let mut open: Option<String> = None;
    let mut last: HashMap<String, (String, Value)> = HashMap::new();
    for kill in 0..=kills {
        let mut http = Http::start(&home, args);
        let mut client = http.client();
        for (id, (body, answer)) in &last {
            let op = id.split(' ').next().unwrap();
            let (status, repeated) = client.post(op, body.as_bytes()).unwrap();
            assert_eq!(
                (status, first_answer(repeated)),
                (200, answer.clone()),
                "{id}"
            );
            asked_again += 1;
        }
        if let Some(open) = open.take() {
            let body = format!(r#"{{"episode":"{open}"}}"#);
            assert_eq!(client.post("end", body.as_bytes()).unwrap().0, 200);
        }
        if kill == kills {
            http.terminate();
            break;
        }
        let episode = format!("day {kill}");
        assert_eq!(begin(&mut client, &episode).0, 200);
        open = Some(episode);
        let acknowledged = Mutex::new(HashMap::new());
        let pause = Duration::from_micros(rng.random_range(500..60_000));
        std::thread::scope(|scope| {
            let (address, acknowledged) = (http.address.clone(), &acknowledged);
            scope.spawn(move || load(&address, 4, &format!("k{kill}"), acknowledged));
            std::thread::sleep(pause);
            http.kill();
        });
        last = acknowledged.into_inner().unwrap();
    }
    let records = journal(&home);
    let of = |op: &str| records.iter().filter(|r| r["op"] == op).collect::<Vec<_>>();
    let ids: HashSet<&str> = of("decide")
        .iter()
        .map(|r| r["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids.len(),
        of("decide").len(),
        "a decision stands there twice"
    );
    assert!(records.iter().zip(1..).all(|(r, seq)| r["seq"] == seq));
    // The same requests, undisturbed.
    let calm = folder.path().join("calm");
    small_shop(&calm);
    let mut lines = Lines::start(&calm, &["--sync", "none"]);
    let mut equal = 0;
    for record in &records {
        let request = match record["op"].as_str().unwrap() {
            "begin" => {
                serde_json::json!({ "op": "begin", "episode": record["episode"], "budget": record["budget"] })
            }
            "decide" => {
                let quantity = record["quantity"].as_u64().unwrap_or(1);
                serde_json::json!({ "op": "decide", "id": record["id"], "step": record["step"], "context": record["context"], "quantity": quantity })
            }
            "observe" => {
                serde_json::json!({ "op": "observe", "id": record["id"], "accepted": record["accepted"] })
            }
            "record" => {
                serde_json::json!({ "op": "record", "id": record["id"], "step": record["step"], "context": record["context"], "offer": record["offer"], "accepted": record["accepted"] })
            }
            "correct" => {
                serde_json::json!({ "op": "correct", "id": record["id"], "accepted": record["accepted"] })
            }
            "cancel" => {
                serde_json::json!({ "op": "cancel", "id": record["id"], "forget": record["forget"] })
            }
            "adjust" => {
                serde_json::json!({ "op": "adjust", "id": record["id"], "units": record["units"] })
            }
            "forget" => {
                serde_json::json!({ "op": "forget", "id": record["id"], "ids": record["ids"] })
            }
            "end" => serde_json::json!({ "op": "end", "episode": record["episode"] }),
            _ => continue,
        };
        let answer = lines.ask(&request.to_string());
        for key in [
            "action",
            "offer",
            "held",
            "lower",
            "upper",
            "opportunity_cost",
            "plan",
            "reward",
            "budget",
        ] {
            if !answer[key].is_null() && !record[key].is_null() {
                assert_eq!(answer[key], record[key], "{key} of {record}");
            }
        }
        equal += 1;
    }
    lines.end();
    say(&format!(
        "{kills} kills, {} lines, {asked_again} acknowledged answers asked for again, {equal} requests equal to an undisturbed run",
        records.len()
    ));
    assert!(asked_again > kills, "there was hardly any load");
}

/// A limit on the size of files simulates a full disk; it is lifted while the service runs.
#[test]
fn a_full_disk_is_reported_and_survived() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "no prlimit");
        return say("skipped: no prlimit (Debian package util-linux)");
    }
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let script = format!(
        "trap '' XFSZ; ulimit -S -f 20; exec {} serve . --listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_cbwk-gpu")
    );
    let child = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut http = Http::wait(child);
    let mut client = http.client();
    assert_eq!(begin(&mut client, "d").0, 200);
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    let decide = |client: &mut Client, n: usize| {
        let body = format!(r#"{{"id":"c{n}","step":1,"context":{{"x":0.1,"y":0.2}}}}"#);
        let (status, answer) = client.post("decide", body.as_bytes()).unwrap();
        (status, answer, body)
    };
    for n in 0..100 {
        let (status, answer, body) = decide(&mut client, n);
        match status {
            200 => acknowledged.push((body, answer)),
            _ => {
                assert_eq!(
                    (status, answer["error"]["code"].as_str()),
                    (503, Some("storage")),
                    "{answer}"
                );
                refused += 1;
            }
        }
    }
    assert!(
        refused > 20 && acknowledged.len() > 20,
        "{refused} refused, {} acknowledged",
        acknowledged.len()
    );
    assert_eq!(client.get("/v1/state").unwrap().0, 200);
    let pid = http.child.id().to_string();
    let lifted = Command::new("prlimit")
        .args(["--pid", &pid, "--fsize=unlimited:"])
        .status()
        .unwrap();
    assert!(lifted.success());
    for n in 90..200 {
        let (status, answer, body) = decide(&mut client, n);
        assert_eq!(status, 200, "{answer}");
        acknowledged.push((body, answer));
    }
    http.kill();
    let http = Http::start(folder.path(), &[]);
    let mut client = http.client();
    for (body, answer) in &acknowledged {
        let (status, repeated) = client.post("decide", body.as_bytes()).unwrap();
        assert_eq!((status, first_answer(repeated)), (200, answer.clone()));
    }
    say(&format!(
        "{refused} answers `storage`, {} acknowledged answers kept",
        acknowledged.len()
    ));
}

/// A request that no sane client sends.
fn rubbish(rng: &mut rand::rngs::ChaCha8Rng, n: usize) -> Vec<u8> {
    let text = |s: &str| s.as_bytes().to_vec();
    match n % 16 {
        0 => (0..rng.random_range(0..200))
            .map(|_| rng.random())
            .collect(),
        1 => [b'['; 60_000].to_vec(),
        2 => r#"{"id":"#.repeat(5000).into_bytes(),
        3 => text(r#"{"id":"a","step":1e999,"context":{}}"#),
        4 => text(r#"{"id":"a","step":1,"context":{"x":NaN}}"#),
        5 => text(r#"{"id":"a","step":18446744073709551616}"#),
        6 => text(r#"{"id":"a","step":-1,"context":[]}"#),
        7 => text(r#"{"id":null,"step":1}"#),
        8 => format!(
            r#"{{"id":"{}","step":1}}"#,
            "x".repeat(rng.random_range(201..5000))
        )
        .into_bytes(),
        9 => text(r#"{"id":"a","step":1,"context":{"x":{"y":[1,2]}}}"#),
        10 => text(r#"{"id":"\ud800","step":1}"#),
        11 => text(r#"{"id":"a","step":1,"context":{"x":1e308}}"#),
        12 => text(r#""just a text""#),
        13 => text(r#"{"id":"a\u0000b","step":1}"#),
        14 => vec![0xff; rng.random_range(1..300)],
        _ => {
            let mut text = text(r#"{"id":"a","step":1,"context":{"x":0.5,"y":0.5}}"#);
            let end = rng.random_range(0..text.len());
            text.truncate(end);
            text
        }
    }
}

#[test]
fn rubbish_is_answered_and_never_stops_the_service() {
    let requests = count("CBWK_RUBBISH", 10_000);
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut http = Http::start(folder.path(), &[]);
    let mut client = http.client();
    assert_eq!(begin(&mut client, "d").0, 200);
    let mut rng = common::rng(5);
    let mut answers: HashMap<u16, usize> = HashMap::new();
    for n in 0..requests {
        let op = [
            "decide",
            "begin",
            "observe",
            "end",
            "nothing",
            "../../etc/passwd",
        ][n / 16 % 6];
        let body = rubbish(&mut rng, n);
        let (status, answer) = client.post(op, &body).unwrap();
        assert!(
            [400, 404].contains(&status),
            "{status} {answer} for {:?}",
            String::from_utf8_lossy(&body)
        );
        assert_eq!(answer["ok"], false);
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        *answers.entry(status).or_default() += 1;
    }
    // Not even HTTP, and clients that say half of what they want, or leave.
    let raw = count("CBWK_RUBBISH", 10_000) / 50;
    let mut slow = Vec::new();
    for n in 0..raw {
        let mut stream = TcpStream::connect(&http.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut answer = Vec::new();
        match n % 4 {
            0 => {
                let bytes: Vec<u8> = (0..300).map(|_| rng.random()).collect();
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut answer);
            }
            1 => {
                let _ = stream.write_all(b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"id\"");
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut answer);
            }
            2 => drop(stream),
            _ => {
                let _ = stream.write_all(b"POST /v1/decide HTTP/1.1\r\nHost: loc");
                slow.push(stream);
            }
        }
    }
    // A body beyond the limit.
    let mut big = http.client();
    let (status, answer) = big.post("decide", &vec![b' '; 70_000]).unwrap();
    assert_eq!(
        (status, answer["error"]["code"].as_str()),
        (400, Some("invalid"))
    );
    // Slow clients are disconnected; others are served.
    let start = Instant::now();
    let mut probe = http.client();
    assert_eq!(probe.get("/healthz").unwrap().0, 200);
    let mut rest = Vec::new();
    let first = slow.first_mut().unwrap();
    first
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let _ = first.read_to_end(&mut rest);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "slow clients stay"
    );
    let (status, state) = http.client().get("/v1/state").unwrap();
    assert_eq!(
        (status, state["open"]["episode"].as_str()),
        (200, Some("d"))
    );
    assert_eq!(state["decisions"], 0);
    http.terminate();
    say(&format!(
        "{requests} malformed requests ({answers:?}), {raw} broken connections, none stopped the service"
    ));
}
