//! Connections with limits: a client has seconds to say something, and to finish what it says. How long an answer takes is
//! not its fault and has no limit here. Clients that have shown who they are keep their places; of the others the oldest
//! one leaves when a new one comes, so that silent connections shut nobody out.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Most connections of known clients, and of strangers.
const CLIENTS: usize = 512;
const STRANGERS: usize = 256;

/// From the connection to the first byte, and from an answer to a stranger to its next request.
const SILENCE: Duration = Duration::from_secs(5);

/// From the first byte of a request to its last, and for a client to take an answer.
const TRANSFER: Duration = Duration::from_secs(10);

/// From an answer to the next request of a known client.
const IDLE: Duration = Duration::from_secs(60);

/// What a connection waits for.
const FOR_REQUEST: u8 = 0;
const FOR_REST: u8 = 1;
const FOR_ANSWER: u8 = 2;
const FOR_READER: u8 = 3;

/// A connection as its requests see it.
#[derive(Debug, Clone)]
pub struct Peer(Arc<State>);

#[derive(Debug)]
struct State {
    waits: AtomicU8,
    evicted: AtomicBool,
    task: Mutex<Option<Waker>>,
    /// The place of a known client.
    place: Mutex<Option<OwnedSemaphorePermit>>,
    places: Arc<Semaphore>,
}

impl Peer {
    /// Its client may ask: it keeps its place.
    pub fn is_known(&self) {
        let mut place = lock(&self.0.place);
        if place.is_none() {
            *place = Arc::clone(&self.0.places).try_acquire_owned().ok();
        }
    }

    /// Its request has been received; the answer may take its time.
    pub fn has_asked(&self) {
        self.0.waits.store(FOR_ANSWER, Ordering::Relaxed);
    }
}

impl State {
    fn is_stranger(&self) -> bool {
        lock(&self.place).is_none()
    }

    fn evict(&self) {
        self.evicted.store(true, Ordering::Relaxed);
        if let Some(task) = lock(&self.task).take() {
            task.wake();
        }
    }
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A listener with these limits.
#[derive(Debug)]
pub struct Guarded {
    listener: TcpListener,
    places: Arc<Semaphore>,
    strangers: VecDeque<Weak<State>>,
}

impl Guarded {
    pub fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(CLIENTS)),
            strangers: VecDeque::new(),
        }
    }
}

impl Listener for Guarded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Answers are short: delaying them to fill packets would only cost time.
        let _ = stream.set_nodelay(true);
        let state = Arc::new(State {
            waits: AtomicU8::new(FOR_REQUEST),
            evicted: AtomicBool::new(false),
            task: Mutex::new(None),
            place: Mutex::new(None),
            places: Arc::clone(&self.places),
        });
        if self.strangers.len() >= STRANGERS {
            let here = |state: &Weak<State>| state.upgrade().is_some_and(|s| s.is_stranger());
            self.strangers.retain(here);
        }
        if self.strangers.len() >= STRANGERS
            && let Some(oldest) = self.strangers.pop_front()
            && let Some(oldest) = oldest.upgrade()
        {
            oldest.evict();
        }
        self.strangers.push_back(Arc::downgrade(&state));
        let connection = Connection {
            stream,
            deadline: Box::pin(sleep(SILENCE)),
            state,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Guarded>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Guarded>) -> Self {
        Self(Arc::clone(&stream.io().state))
    }
}

/// A connection that is closed if its client is too slow.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    state: Arc<State>,
}

impl Connection {
    fn waits(&self) -> u8 {
        self.state.waits.load(Ordering::Relaxed)
    }

    fn wait_for(&mut self, what: u8) {
        self.state.waits.store(what, Ordering::Relaxed);
        let time = match what {
            FOR_REQUEST if self.state.is_stranger() => SILENCE,
            FOR_REQUEST => IDLE,
            _ => TRANSFER,
        };
        self.deadline.as_mut().reset(Instant::now() + time);
    }

    /// Whether the client has been too slow, or must make room.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if self.waits() == FOR_ANSWER {
            return false;
        }
        *lock(&self.state.task) = Some(cx.waker().clone());
        self.state.evicted.load(Ordering::Relaxed) || self.deadline.as_mut().poll(cx).is_ready()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before && self.waits() == FOR_REQUEST {
            self.wait_for(FOR_REST);
        }
        if read.is_pending() && self.is_over(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        match written {
            Poll::Ready(Ok(_)) => self.wait_for(FOR_REQUEST),
            Poll::Pending => {
                if self.waits() == FOR_ANSWER {
                    self.wait_for(FOR_READER);
                }
                if self.is_over(cx) {
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            Poll::Ready(Err(_)) => {}
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
