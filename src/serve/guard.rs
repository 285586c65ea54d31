//! Connections with limits on their number and on the time of a request.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Most connections at a time; others wait.
const CONNECTIONS: usize = 512;

/// From the first byte of a request to its last.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// From an answer to the next request.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A listener with these limits.
#[derive(Debug)]
pub struct Guarded {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Guarded {
    pub fn new(listener: TcpListener) -> Self {
        Self {
            listener,
            places: Arc::new(Semaphore::new(CONNECTIONS)),
        }
    }
}

impl Listener for Guarded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let places = Arc::clone(&self.places);
        let place = places.acquire_owned().await.expect("it is never closed");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Answers are short: delaying them to fill packets would only cost time.
        let _ = stream.set_nodelay(true);
        let connection = Connection {
            stream,
            deadline: Box::pin(sleep(IDLE_TIME)),
            reading: false,
            _place: place,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that is closed if its client is too slow.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    /// Whether a request has begun and has no answer yet.
    reading: bool,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn set_deadline(&mut self, reading: bool) {
        if self.reading != reading {
            self.reading = reading;
            let time = if reading { REQUEST_TIME } else { IDLE_TIME };
            self.deadline.as_mut().reset(Instant::now() + time);
        }
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
        if buf.filled().len() > before {
            self.set_deadline(true);
        }
        if read.is_pending() && self.deadline.as_mut().poll(cx).is_ready() {
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
            Poll::Ready(Ok(_)) => self.set_deadline(false),
            Poll::Pending if self.deadline.as_mut().poll(cx).is_ready() => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
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
