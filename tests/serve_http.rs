//! The service over HTTP: who may ask, how it stops, and its page in a browser.

#[allow(dead_code, reason = "this page is asked for by its address")]
mod browser;
mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use common::{cbwk, say};
use rand::RngExt;
use served::{Http, begin, first_answer, load, small_shop};
use tempfile::tempdir;

#[test]
fn only_this_machine_or_clients_with_the_token() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    for wrong in [
        &["serve", ".", "--listen", "0.0.0.0:0"][..],
        &["serve", ".", "--listen", "nowhere"],
        &[
            "serve",
            ".",
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            "none",
        ],
    ] {
        assert_eq!(
            cbwk(folder.path(), wrong).status.code(),
            Some(2),
            "{wrong:?}"
        );
    }
    fs::write(folder.path().join("short"), "abc\n").unwrap();
    let short = cbwk(
        folder.path(),
        &[
            "serve",
            ".",
            "--listen",
            "127.0.0.1:0",
            "--token-file",
            "short",
        ],
    );
    assert_eq!(short.status.code(), Some(2));
    let token = "0123456789abcdef-secret";
    fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
    let file = folder.path().join("token");
    let http = Http::start(folder.path(), &["--token-file", file.to_str().unwrap()]);
    let mut client = http.client();
    let mut get = |header: &str| client.send("GET", "/v1/state", header, b"").unwrap().0;
    assert_eq!(get(""), 401);
    assert_eq!(
        get("Authorization: Bearer 0123456789abcdef-secreT\r\n"),
        401
    );
    assert_eq!(get("Authorization: Bearer 0123456789abcdef-secre\r\n"), 401);
    assert_eq!(get(&format!("Authorization: Bearer {token}\r\n")), 200);
    drop(http);
    // Without a token, pages of other sites are refused.
    let http = Http::start(folder.path(), &[]);
    let mut client = http.client();
    assert_eq!(
        client
            .send(
                "GET",
                "/v1/state",
                "Origin: http://elsewhere.example\r\n",
                b""
            )
            .unwrap()
            .0,
        400
    );
    assert_eq!(
        client
            .send(
                "GET",
                "/v1/state",
                &format!("Origin: http://{}\r\n", http.address),
                b""
            )
            .unwrap()
            .0,
        200
    );
}

#[test]
fn a_stop_answers_open_requests_first() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut http = Http::start(folder.path(), &[]);
    assert_eq!(begin(&mut http.client(), "d").0, 200);
    let acknowledged = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        let (address, acknowledged) = (http.address.clone(), &acknowledged);
        scope.spawn(move || load(&address, 8, "t", acknowledged));
        std::thread::sleep(Duration::from_millis(300));
        http.terminate();
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let http = Http::start(folder.path(), &[]);
    let mut client = http.client();
    for (id, (body, answer)) in &acknowledged {
        let op = id.split(' ').next().unwrap();
        let (status, repeated) = client.post(op, body.as_bytes()).unwrap();
        assert_eq!((status, first_answer(repeated)), (200, answer.clone()));
    }
    say(&format!(
        "{} answers before the stop, all kept",
        acknowledged.len()
    ));
    assert!(folder.path().join("journal.snapshot").exists());
}

fn a_week(folder: &Path) -> Http {
    small_shop(folder);
    let http = Http::start(folder, &["--sync", "none"]);
    let mut client = http.client();
    let mut rng = common::rng(2);
    for day in 0..7 {
        assert_eq!(begin(&mut client, &format!("<b>day {day}</b>")).0, 200);
        for step in 1..=8 {
            if day == 6 && step > 5 {
                return http;
            }
            let id = format!("{day}-{step}");
            let x: f64 = rng.random();
            let (_, answer) = client
                .post(
                    "decide",
                    format!(r#"{{"id":"{id}","step":{step},"context":{{"x":{x:?},"y":0.5}}}}"#)
                        .as_bytes(),
                )
                .unwrap();
            if let Some(price) = answer["offer"].as_f64() {
                let accepted = rng.random_bool(0.7 / price);
                client
                    .post(
                        "observe",
                        format!(r#"{{"id":"{id}","accepted":{accepted}}}"#).as_bytes(),
                    )
                    .unwrap();
            }
        }
        client
            .post(
                "end",
                format!(r#"{{"episode":"<b>day {day}</b>"}}"#).as_bytes(),
            )
            .unwrap();
    }
    http
}

/// The page of the service in a browser: it draws, refreshes by itself, and escapes names.
#[test]
fn the_page_shows_the_day_and_refreshes() {
    let Some(chromium) = browser::chromium() else {
        return;
    };
    let folder = tempdir().unwrap();
    let http = a_week(&folder.path().join("shop"));
    let (status, page) = http.client().send_raw("GET", "/", "", b"").unwrap();
    assert_eq!(status, 200);
    assert!(!String::from_utf8_lossy(&page).contains("http://elsewhere"));
    for width in [390, 1280] {
        let dom = Command::new(&chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--timeout=6000",
            ])
            .arg(format!("--window-size={width},1400"))
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join(format!("profile-{width}")).display()
            ))
            .arg("--dump-dom")
            .arg("--virtual-time-budget=7000")
            .arg(format!("http://{}/", http.address))
            .output()
            .unwrap();
        let dom = String::from_utf8_lossy(&dom.stdout).into_owned();
        let refreshed: usize = dom
            .split("data-refreshed=\"")
            .nth(1)
            .and_then(|r| r.split('"').next())
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        assert!(refreshed >= 2, "refreshed {refreshed} times: {dom}");
        assert!(dom.contains("7 episodes, 53 decisions"), "{dom}");
        assert!(dom.contains("&lt;b&gt;day 6&lt;/b&gt;") && !dom.contains("<b>day"));
        // Budget, reward, widths and the map of offers.
        assert_eq!(dom.matches("role=\"img\"").count(), 4);
        assert!(dom.matches("<rect").count() > 20);
        say(&format!("{width} px: refreshed {refreshed} times"));
    }
}
