//! The speed of the service on this machine, compared with its disk and an empty handler. Bounded in count and time, on the
//! loopback device only. Run with `cargo run --release --example live_load [SECONDS] [RECORDS]`; the program
//! `cbwk-gpu` must have been built beside it.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TASK: &str = "[task]\nhorizon = 100\nbudget = 100\n\n[application]\nkind = \"pricing\"\nprices = [1.0, 2.0, 3.0, 4.0]\n\n[columns]\nepisode = \"day\"\nstep = \"step\"\naction = \"price\"\naccepted = \"bought\"\n\n[action]\nmean = 0.0\ndeviation = 1.0\n\n[encoding]\nconstant = false\n\n[[encoding.columns]]\nkind = \"number\"\ncolumn = \"x\"\nmean = 0.0\ndeviation = 1.0\nlow = 0.0\nhigh = 1.0\nmissing = \"mean\"\n";

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path, args: &[&str]) -> std::io::Result<Self> {
        let program = std::env::current_exe()?;
        let program = program
            .parent()
            .and_then(Path::parent)
            .map(|p| p.join("cbwk-gpu"));
        let mut child = Command::new(program.unwrap_or_default())
            .arg("serve")
            .arg(folder)
            .args(["--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line)?;
        let address = line
            .trim()
            .trim_start_matches("listening on http://")
            .to_string();
        Ok(Self { child, address })
    }

    fn memory_kib(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok())
            .unwrap_or(0)
    }

    fn stop(mut self) -> std::io::Result<()> {
        Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()?;
        self.child.wait().map(drop)
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn new(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn decide(&mut self, id: &str) -> std::io::Result<String> {
        let body = format!("{{\"id\":\"{id}\",\"step\":1,\"context\":{{\"x\":0.5}}}}");
        self.ask("POST", "/v1/decide", &body)
    }
}

/// Seconds of each call until time is up.
fn timed(
    limit: Duration,
    mut call: impl FnMut(usize) -> std::io::Result<()>,
) -> std::io::Result<Vec<f64>> {
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < limit {
        let before = Instant::now();
        call(times.len())?;
        times.push(before.elapsed().as_secs_f64());
    }
    Ok(times)
}

fn rate(times: &[f64]) -> f64 {
    times.len() as f64 / times.iter().sum::<f64>()
}

fn p99(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

/// Calls per second of 64 clients together, each with ids of its own.
fn rate_of_64(
    address: &str,
    limit: Duration,
    call: impl Fn(&mut Client, &str) -> std::io::Result<()> + Sync,
) -> f64 {
    let (start, call) = (Instant::now(), &call);
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let one = |c: usize| {
            let mut client = Client::new(address).expect("connects");
            let times = timed(limit, |n| call(&mut client, &format!("m{c}-{n}")));
            times.map_or(0, |times| times.len())
        };
        let clients: Vec<_> = (0..64).map(|c| scope.spawn(move || one(c))).collect();
        clients.into_iter().map(|c| c.join().unwrap_or(0)).collect()
    });
    counts.iter().sum::<usize>() as f64 / start.elapsed().as_secs_f64()
}

fn folder(root: &Path, name: &str, task: &str) -> std::io::Result<PathBuf> {
    let folder = root.join(name);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("task.toml"), task)?;
    fs::write(
        folder.join("learner.toml"),
        "kind = \"tight-opt-dp\"\nreplan_growth = 0.05\noracle = { kind = \"armed\" }\n",
    )?;
    Ok(folder)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let seconds: f64 = args.next().map_or(Ok(3.0), |s| s.parse())?;
    let records: usize = args.next().map_or(Ok(100_000), |s| s.parse())?;
    let limit = Duration::from_secs_f64(seconds.clamp(0.1, 60.0));
    let root = std::env::current_dir()?.join(format!("live-load-{}", std::process::id()));
    fs::create_dir_all(&root)?;
    let result = measure(&root, limit, records.min(5_000_000));
    fs::remove_dir_all(&root)?;
    result
}

fn measure(root: &Path, limit: Duration, records: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut file = File::create(root.join("bare"))?;
    let line = [b'x'; 400];
    let mut bare = timed(limit, |_| {
        file.write_all(&line)?;
        file.sync_data()
    })?;
    let begin = "{\"episode\":\"d\",\"budget\":100}";

    let server = Server::start(&folder(root, "synced", TASK)?, &[])?;
    let mut client = Client::new(&server.address)?;
    client.ask("POST", "/v1/begin", begin)?;
    let mut single = timed(limit, |n| client.decide(&format!("s{n}")).map(drop))?;
    let many = rate_of_64(&server.address, limit, |client, id| {
        client.decide(id).map(drop)
    });
    server.stop()?;
    println!("single fdatasync              {:>9.0}/s", rate(&bare));
    println!(
        "64 clients, every answer synced {many:>7.0}/s = {:.1} x",
        many / rate(&bare)
    );
    let (ours, theirs) = (p99(&mut single), p99(&mut bare));
    println!(
        "one client, p99               {:>9.2} ms, bare fdatasync {:.2} ms = {:.2} x",
        ours * 1e3,
        theirs * 1e3,
        ours / theirs
    );

    let server = Server::start(&folder(root, "unsynced", TASK)?, &["--sync", "none"])?;
    let mut client = Client::new(&server.address)?;
    client.ask("POST", "/v1/begin", begin)?;
    let (mut empty, mut decide) = (Vec::new(), Vec::new());
    for round in 0..10 {
        empty.extend(timed(limit / 10, |_| {
            client.ask("GET", "/healthz", "").map(drop)
        })?);
        decide.extend(timed(limit / 10, |n| {
            client.decide(&format!("u{round}-{n}")).map(drop)
        })?);
    }
    let (empty, decide) = (1.0 / rate(&empty), 1.0 / rate(&decide));
    println!(
        "decide without sync           {:>9.1} us, an empty handler {:.1} us = {:.2} x",
        decide * 1e6,
        empty * 1e6,
        decide / empty
    );
    // How much of the machine the clients and the protocol take by themselves.
    let idle = rate_of_64(&server.address, limit, |client, _| {
        client.ask("GET", "/healthz", "").map(drop)
    });
    let decided = rate_of_64(&server.address, limit, |client, id| {
        client.decide(id).map(drop)
    });
    println!("64 clients without sync       {decided:>9.0}/s, an empty handler {idle:.0}/s");
    server.stop()?;

    // A journal of many records: whole days of 100 customers, with all outcomes.
    let home = folder(root, "long", TASK)?;
    let mut child = Command::new(
        std::env::current_exe()?
            .parent()
            .and_then(Path::parent)
            .map(|p| p.join("cbwk-gpu"))
            .unwrap_or_default(),
    )
    .arg("serve")
    .arg(&home)
    .args(["--sync", "none"])
    .stdin(Stdio::piped())
    .stdout(Stdio::null())
    .spawn()?;
    let mut input = std::io::BufWriter::new(child.stdin.take().expect("piped"));
    let (mut lines, mut day) = (0, 0);
    let start = Instant::now();
    while lines < records {
        writeln!(
            input,
            "{{\"op\":\"begin\",\"episode\":\"{day}\",\"budget\":100}}"
        )?;
        for n in 0..100 {
            let step = n + 1;
            writeln!(
                input,
                "{{\"op\":\"decide\",\"id\":\"{day}-{n}\",\"step\":{step},\"context\":{{\"x\":0.{}}}}}",
                n % 97
            )?;
            writeln!(
                input,
                "{{\"op\":\"observe\",\"id\":\"{day}-{n}\",\"accepted\":{}}}",
                n % 3 == 0
            )?;
        }
        writeln!(input, "{{\"op\":\"end\",\"episode\":\"{day}\"}}")?;
        (lines, day) = (lines + 202, day + 1);
    }
    drop(input);
    child.wait()?;
    println!(
        "{lines} records of {day} days written in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    for (what, remove) in [("a snapshot", false), ("the journal alone", true)] {
        if remove {
            fs::remove_file(home.join("journal.snapshot"))?;
        }
        let start = Instant::now();
        let server = Server::start(&home, &[])?;
        println!(
            "restart from {what}: {:.2} s, {} MiB",
            start.elapsed().as_secs_f64(),
            server.memory_kib() / 1024
        );
        if remove {
            // What an end leaves behind.
            let mut client = Client::new(&server.address)?;
            let before = server.memory_kib();
            client.ask("POST", "/v1/begin", "{\"episode\":\"last\",\"budget\":100}")?;
            let made = 500;
            for n in 0..made {
                let decide = format!("{{\"id\":\"last{n}\",\"step\":1,\"context\":{{\"x\":0.5}}}}");
                client.ask("POST", "/v1/decide", &decide)?;
                let outcome = format!("{{\"id\":\"last{n}\",\"accepted\":false}}");
                client.ask("POST", "/v1/observe", &outcome)?;
            }
            client.ask("POST", "/v1/end", "{\"episode\":\"last\"}")?;
            println!(
                "memory before and after a day of {} decisions: {before} and {} KiB",
                made,
                server.memory_kib()
            );
        }
        server.stop()?;
    }
    Ok(())
}
