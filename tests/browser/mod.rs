//! Headless Chromium for tests: opens a page in a frame of a given width, runs a script in it, returns what it found.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::say;

/// The result of a visit.
#[derive(Debug)]
pub struct Visit {
    /// The object `found` of the script, with `errors` and `requests`.
    pub findings: Value,
    /// The output of the console.
    pub console: Vec<String>,
}

/// The browser. Without one a test is skipped, with the reason; in CI it fails.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("CI").is_some();
        assert!(!required, "browser tests must run in CI: no chromium");
        say("skipped: no chromium (Debian package chromium)");
    }
    found
}

/// Before the page: remember errors. After it: run the script, tell the outer page.
const BEFORE: &str = "<script>
const found = { errors: [] };
addEventListener('error', (e) => found.errors.push(String(e.message ?? e.target.src)), true);
addEventListener('unhandledrejection', (e) => found.errors.push(String(e.reason)));
addEventListener('securitypolicyviolation', (e) => found.errors.push(e.blockedURI));
</script>";
const AFTER: &str = "
  } catch (error) { found.errors.push(String(error.stack)); }
  found.requests = performance.getEntriesByType('resource').map((r) => r.name).filter((n) => !n.startsWith('data:'));
  parent.postMessage(JSON.stringify(found), '*');
}, 200));
</script>";
const OUTER: &str = "<!doctype html><body style='margin:0'><pre id='found'></pre><script>
addEventListener('message', (e) => { document.getElementById('found').textContent = e.data; });
</script><iframe src='inner.html' style='border:0;height:1200px;width:";

/// Opens a copy of `page` in a frame of `width` pixels, and runs `script` there once it has loaded; the script writes
/// into the object `found`.
pub fn visit(chromium: &Path, page: &Path, width: u32, script: &str) -> Visit {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(page).unwrap();
    let text = text.replacen("<head>", &format!("<head>{BEFORE}"), 1);
    let run = format!(
        "<script>\naddEventListener('load', () => setTimeout(async () => {{ try {{\n{script}{AFTER}</body>"
    );
    let place = text.rfind("</body>").unwrap();
    fs::write(file("inner.html"), text[..place].to_string() + &run).unwrap();
    fs::write(file("outer.html"), format!("{OUTER}{width}px'></iframe>")).unwrap();
    let mut browser = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=4000",
            "--window-size=1400,1300",
        ])
        .arg(format!("--user-data-dir={}", file("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file("outer.html").display()))
        .stdout(File::create(file("dom")).unwrap())
        .stderr(File::create(file("log")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            browser.kill().unwrap();
            panic!("the browser did not end within a minute");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = String::from_utf8_lossy(&fs::read(file("log")).unwrap()).into_owned();
    let dom = fs::read_to_string(file("dom")).unwrap();
    let found = dom
        .split("<pre id=\"found\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next());
    let found = found.unwrap_or_else(|| panic!("no findings in {dom}\n{log}"));
    let found = found
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    Visit {
        findings: serde_json::from_str(&found)
            .unwrap_or_else(|e| panic!("{e} in {found:?}\n{log}")),
        console: log
            .lines()
            .filter(|l| l.contains("CONSOLE"))
            .map(String::from)
            .collect(),
    }
}
