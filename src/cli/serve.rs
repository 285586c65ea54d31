//! `cbwk-gpu serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::interrupt::Interrupt;
use super::log;
use super::machine;
use super::serve_args::{ServeArgs, SyncChoice};
use super::serve_http::listen;
use super::serve_shops::{Opener, folders_of};
use cbwk_gpu::error::InputError;
use cbwk_gpu::learner::live::{Engine, Job, LiveSettings, Refusal, Reply, Request, RequestQueue};

/// Most bytes of a request.
const LINE_LIMIT: u64 = 1 << 16;

/// Length of a request queue.
pub const WAITING: usize = 1024;

/// Runs the command.
pub fn serve(args: &ServeArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let found = folders_of(&args.folders)?;
    let settings = LiveSettings {
        explore: args.explore,
        seed: 0,
        hold_ms: args.hold.map(|seconds| u64::from(seconds) * 1000),
        sync: args.sync == SyncChoice::Every,
        fixed: args.policy.fixed(),
        pilot: args.pilot(),
        ..LiveSettings::default()
    };
    let opener = Opener {
        settings,
        notices: log::notices(args.log, found.single),
    };
    if args.listen.is_some() {
        return listen(args, found, opener);
    }
    let [(name, folder)] = found.shops.as_slice() else {
        let message = "found several shops; accepted: one, or several with --listen";
        return Err(InputError::option("DIR", message).into());
    };
    let (live, check) = opener.live(name, folder)?;
    let engine = Engine::start(Arc::clone(&opener.notices), true)?;
    let queue = engine.open(name, live, WAITING);
    opener.check_journals(check.into_iter().collect());
    lines(engine, queue)
}

/// Both queues as the reader of standard input uses them; taking them away stops it.
type Ends = Arc<Mutex<Option<(RequestQueue, SyncSender<Reply>)>>>;

/// JSON lines on standard input and output, until the input ends or a signal comes.
fn lines(engine: Engine, queue: RequestQueue) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let (answers, to_write) = sync_channel::<Reply>(WAITING);
    let writer = Builder::new().name("writer".into());
    let writer = writer.spawn(move || write_answers(&to_write))?;
    let ends: Ends = Arc::new(Mutex::new(Some((queue, answers))));
    let reader = {
        let ends = Arc::clone(&ends);
        let reader = Builder::new().name("reader".into());
        reader.spawn(move || read_requests(&ends))?
    };
    while !reader.is_finished() && interrupt.signal().is_none() && !writer.is_finished() {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(ends.lock().unwrap_or_else(PoisonError::into_inner).take());
    stopped(engine)?;
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

/// Ends the service; the first shop whose journal could not be written is the error.
pub fn stopped(engine: Engine) -> anyhow::Result<()> {
    match engine.stop().into_iter().next() {
        Some((name, refusal)) => anyhow::bail!("{name}: {}", refusal.message),
        None => Ok(()),
    }
}
