//! `cbwk-gpu serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::interrupt::Interrupt;
use super::machine;
use super::serve_args::{ServeArgs, SyncChoice};
use cbwk_gpu::learner::live::{
    Engine, Job, Live, LiveSettings, Refusal, Reply, Request, RequestQueue,
};
use cbwk_gpu::shop::TaskFolder;

/// Most bytes of a request.
const LINE_LIMIT: u64 = 1 << 16;

/// Length of the request queue.
const WAITING: usize = 1024;

/// Runs the command.
pub fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let settings = LiveSettings {
        explore: args.explore,
        seed: 0,
        hold_ms: args.hold.map(|seconds| u64::from(seconds) * 1000),
        sync: args.sync == SyncChoice::Every,
        fixed: args.policy.fixed(),
        ..LiveSettings::default()
    };
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    if let Some(address) = args.listen {
        check_address(address, token.is_some())?;
    }
    let (live, notes) = folder.live(settings)?;
    for text in notes {
        machine::note(false, &text);
    }
    match args.listen {
        None => lines(live),
        Some(address) => listen(live, address, token, &folder.name()),
    }
}

/// Both queues as the reader of standard input uses them; taking them away stops it.
type Ends = Arc<Mutex<Option<(RequestQueue, SyncSender<Reply>)>>>;

/// JSON lines on standard input and output, until the input ends or a signal comes.
fn lines(live: Live) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let engine = Engine::start(live, WAITING);
    let (answers, to_write) = sync_channel::<Reply>(WAITING);
    let writer = std::thread::spawn(move || write_answers(&to_write));
    let ends: Ends = Arc::new(Mutex::new(Some((engine.queue(), answers))));
    let reader = {
        let ends = Arc::clone(&ends);
        std::thread::spawn(move || read_requests(&ends))
    };
    while !reader.is_finished() && interrupt.signal().is_none() && !writer.is_finished() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(ends.lock().unwrap_or_else(PoisonError::into_inner).take());
    stopped(engine.stop())?;
    match writer.join() {
        Ok(written) => Ok(written?),
        Err(_) => anyhow::bail!("the answers could not be written"),
    }
}

fn read_requests(ends: &Ends) {
    let mut input = BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input)
            .take(LINE_LIMIT + 1)
            .read_until(b'\n', &mut line);
        let request = match read {
            Ok(0) | Err(_) => return,
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(read) if read as u64 <= LINE_LIMIT => Request::parse(&line),
            Ok(_) => {
                if !line.ends_with(b"\n") {
                    let _ = skip_line(&mut input, &mut line);
                }
                let message = format!("request: more than {LINE_LIMIT} bytes");
                Err(Refusal::invalid(message))
            }
        };
        let ends = ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((queue, answers)) = ends else {
            return;
        };
        // A refusal keeps its place in the order of answers: it is sent with a state request.
        let (request, refusal) = match request {
            Ok(request) => (request, None),
            Err(refusal) => (Request::State, Some(refusal)),
        };
        let reply = Box::new(move |reply: Reply| drop(answers.send(refusal.map_or(reply, Err))));
        if !queue.send(Job { request, reply }) {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead, rest: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        rest.clear();
        let read = input.take(LINE_LIMIT).read_until(b'\n', rest)?;
        if read == 0 || rest.ends_with(b"\n") {
            return Ok(());
        }
    }
}

fn write_answers(answers: &Receiver<Reply>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    while let Ok(first) = answers.recv() {
        let mut next = Some(first);
        while let Some(reply) = next {
            let answer = reply.unwrap_or_else(|refusal| refusal.json());
            writeln!(out, "{answer}")?;
            next = answers.try_recv().ok();
        }
        out.flush()?;
    }
    Ok(())
}

fn stopped(result: Result<(), Refusal>) -> anyhow::Result<()> {
    result.map_err(|refusal| anyhow::anyhow!(refusal.message))
}

use http::{check_address, listen, read_token};

#[cfg(not(feature = "serve"))]
mod http {
    use std::net::SocketAddr;
    use std::path::Path;

    use cbwk_gpu::dp::BackendError;
    use cbwk_gpu::learner::live::Live;

    pub fn check_address(_: SocketAddr, _: bool) -> anyhow::Result<()> {
        Ok(())
    }

    pub fn read_token(_: &Path) -> anyhow::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    pub fn listen(_: Live, _: SocketAddr, _: Option<Vec<u8>>, _: &str) -> anyhow::Result<()> {
        Err(BackendError::Unavailable {
            backend: "serve".into(),
            reason: "this program was built without HTTP; standard input and output remain".into(),
        }
        .into())
    }
}

#[cfg(feature = "serve")]
mod http {
    use std::io::Write;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::time::Duration;

    use super::super::interrupt::Interrupt;
    use super::{WAITING, stopped};
    use cbwk_gpu::error::InputError;
    use cbwk_gpu::learner::live::{Engine, Live};
    use cbwk_gpu::report::live::live_page;
    use cbwk_gpu::serve::Service;

    /// Without a token, only loopback addresses are allowed.
    pub fn check_address(address: SocketAddr, token: bool) -> anyhow::Result<()> {
        if address.ip().is_loopback() || token {
            return Ok(());
        }
        let message = format!(
            "found {address}; accepted: an address of this machine such as 127.0.0.1:7878, or any with --token-file"
        );
        Err(InputError::option("--listen", message).into())
    }

    /// The token: the file's first line.
    pub fn read_token(file: &Path) -> anyhow::Result<Vec<u8>> {
        let text = std::fs::read(file).map_err(|error| InputError::unreadable(file, &error))?;
        let token = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let token = token.trim_ascii().to_vec();
        if token.len() < 16 {
            let length = token.len();
            let message = format!("found a token of {length} bytes; accepted: 16 or more");
            return Err(InputError::in_file(file, message).into());
        }
        Ok(token)
    }

    pub fn listen(
        live: Live,
        address: SocketAddr,
        token: Option<Vec<u8>>,
        name: &str,
    ) -> anyhow::Result<()> {
        let interrupt = Interrupt::listen()?;
        let engine = Engine::start(live, WAITING);
        let service = Service::bind(address, engine.queue(), token, live_page(name));
        let service = service.map_err(|error| {
            let message = format!("found {address}; it cannot be listened on ({error})");
            InputError::option("--listen", message)
        })?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "listening on http://{}", service.address())?;
        out.flush()?;
        while interrupt.signal().is_none() && !engine.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        service.stop();
        stopped(engine.stop())
    }
}
