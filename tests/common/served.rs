//! Task folders that are served, and clients of theirs.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A folder whose features are its columns, without scaling.
pub fn task_folder(
    folder: &Path,
    horizon: usize,
    budget: u32,
    prices: &[f64],
    columns: &[&str],
    learner: &str,
) {
    fs::create_dir_all(folder).unwrap();
    let mut text = format!(
        "[task]\nhorizon = {horizon}\nbudget = {budget}\n\n[application]\nkind = \"pricing\"\nprices = {prices:?}\n\n[columns]\nepisode = \"day\"\nstep = \"step\"\naction = \"price\"\naccepted = \"bought\"\n\n[action]\nmean = 0.0\ndeviation = 1.0\n\n[encoding]\nconstant = false\n"
    );
    for column in columns {
        text += &format!(
            "\n[[encoding.columns]]\nkind = \"number\"\ncolumn = \"{column}\"\nmean = 0.0\ndeviation = 1.0\nlow = 0.0\nhigh = 1.0\nmissing = \"mean\"\n"
        );
    }
    fs::write(folder.join("task.toml"), text).unwrap();
    fs::write(folder.join("learner.toml"), learner).unwrap();
}

pub const ARMED: &str = "kind = \"tight-opt-dp\"\noracle = { kind = \"armed\" }\n";

/// A small shop: 8 steps, 5 units, three prices, two columns.
pub fn small_shop(folder: &Path) {
    task_folder(folder, 8, 5, &[1.0, 2.0, 3.0], &["x", "y"], ARMED);
}

/// A process that answers JSON lines.
pub struct Lines {
    pub child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Lines {
    pub fn start(folder: &Path, args: &[&str]) -> Self {
        let mut child = command(folder, args).stdin(Stdio::piped()).spawn().unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    pub fn ask(&mut self, request: &str) -> Value {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{request}").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?} for {request}"))
    }

    pub fn code(&mut self, request: &str) -> String {
        let answer = self.ask(request);
        assert_eq!(answer["ok"], false, "{answer} for {request}");
        answer["error"]["code"].as_str().unwrap().to_string()
    }

    /// Closes the input and waits for the end.
    pub fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"));
    command.arg("serve").arg(folder).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A process that answers HTTP.
pub struct Http {
    pub child: Child,
    pub address: String,
}

impl Http {
    pub fn start(folder: &Path, args: &[&str]) -> Self {
        let args = [&["--listen", "127.0.0.1:0"], args].concat();
        Self::wait(command(folder, &args).spawn().unwrap())
    }

    /// Waits until a process listens.
    pub fn wait(mut child: Child) -> Self {
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        let Some(address) = address.map(String::from) else {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("{line:?}: {said}");
        };
        Self { child, address }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Asks it to end, and waits until it has.
    pub fn terminate(&mut self) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(self.child.wait().unwrap().success());
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that is reused.
pub struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Client {
    pub fn new(address: &str) -> Self {
        Self::connect(address).unwrap()
    }

    /// A connection, or the reason why there is none: the service may be gone.
    pub fn connect(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self {
            stream: BufReader::new(stream),
            host: address.into(),
        })
    }

    /// The status and the body of an answer.
    pub fn post(&mut self, op: &str, body: &[u8]) -> std::io::Result<(u16, Value)> {
        self.send("POST", &format!("/v1/{op}"), "", body)
    }

    pub fn get(&mut self, path: &str) -> std::io::Result<(u16, Value)> {
        self.send("GET", path, "", b"")
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> std::io::Result<(u16, Value)> {
        let (status, text) = self.send_raw(method, path, headers, body)?;
        Ok((status, serde_json::from_slice(&text).unwrap_or(Value::Null)))
    }

    pub fn send_raw(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> std::io::Result<(u16, Vec<u8>)> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n",
            self.host,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)?;
        self.answer()
    }

    fn answer(&mut self) -> std::io::Result<(u16, Vec<u8>)> {
        let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or_else(cut)?;
        let mut length = 0;
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(cut());
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| cut())?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }
}

/// A repeated answer says so, and is the first answer otherwise.
pub fn first_answer(mut answer: Value) -> Value {
    let said = answer.as_object_mut().unwrap().remove("repeated");
    assert_eq!(said, Some(Value::Bool(true)), "{answer}");
    answer
}

/// The records of a folder's journal.
pub fn journal(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn begin(client: &mut Client, episode: &str) -> (u16, Value) {
    client
        .post(
            "begin",
            format!(r#"{{"episode":"{episode}","budget":5}}"#).as_bytes(),
        )
        .unwrap()
}

/// Clients that send all events of a day until the service ends; acknowledged requests go into `acknowledged`, by kind and
/// id. At any time the books balance.
pub fn load(
    address: &str,
    clients: usize,
    name: &str,
    acknowledged: &Mutex<HashMap<String, (String, Value)>>,
) {
    std::thread::scope(|scope| {
        for c in 0..clients {
            scope.spawn(move || {
                let Ok(mut client) = Client::connect(address) else {
                    return;
                };
                let mut send = |op: &str, body: Value| {
                    let text = body.to_string();
                    let (status, answer) = client.post(op, text.as_bytes()).ok()?;
                    assert_eq!(status, 200, "{op} {answer}");
                    let key = format!("{op} {}", body["id"].as_str().unwrap());
                    acknowledged.lock().unwrap().insert(key, (text, answer.clone()));
                    Some(answer)
                };
                let mut day = |n: usize| {
                    let id = format!("{name}-{c}-{n}");
                    let context = json!({ "x": f64::from(c as u32) / 10.0, "y": 0.5 });
                    let quantity = 1 + n % 7 / 6;
                    let answer = send(
                        "decide",
                        json!({ "id": id, "step": n % 8 + 1, "context": context, "quantity": quantity }),
                    )?;
                    if answer["action"].as_u64().unwrap() > 0 {
                        let accepted = n.is_multiple_of(3);
                        send("observe", json!({ "id": id, "accepted": accepted }))?;
                        if n % 4 == 1 {
                            send("correct", json!({ "id": id, "accepted": !accepted }))?;
                        } else if accepted {
                            send("cancel", json!({ "id": id, "forget": n.is_multiple_of(2) }))?;
                        }
                    }
                    match n % 6 {
                        2 => send("adjust", json!({ "id": format!("{id} van"), "units": 2 })),
                        3 => send(
                            "record",
                            json!({ "id": format!("{id} own"), "step": 1, "context": context, "offer": 1.5, "accepted": true }),
                        ),
                        5 => send("forget", json!({ "id": format!("{id} privacy"), "ids": [id] })),
                        _ => Some(Value::Null),
                    }
                };
                for n in 0.. {
                    if day(n).is_none() {
                        return;
                    }
                }
            });
        }
        // An observer, who finds the books balanced whenever it looks.
        scope.spawn(move || {
            let Ok(mut client) = Client::connect(address) else {
                return;
            };
            while let Ok((_, state)) = client.get("/v1/state") {
                balanced(&state);
                std::thread::sleep(Duration::from_millis(3));
            }
        });
    });
}

/// Units left and spent are those that were brought, and no more is held than is left.
pub fn balanced(state: &Value) {
    let open = &state["open"];
    if open["budget"].is_null() {
        return;
    }
    let of = |key: &str| {
        open[key]
            .as_i64()
            .unwrap_or_else(|| panic!("{key} in {state}"))
    };
    let brought = of("begun") + of("adjusted");
    assert_eq!(of("budget") + of("spent"), brought, "{state}");
    assert!(of("spent") + of("held") <= brought, "{state}");
}
