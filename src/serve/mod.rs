//! The live learner over HTTP/1.1. It opens no files and prints nothing.

mod guard;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::learner::live::{Code, EVENTS, Job, Refusal, Reply, Request, RequestQueue};
use guard::Guarded;

/// Most bytes of a request, and most bytes read before the connection is closed.
const BODY_LIMIT: usize = 1 << 16;
const READ_LIMIT: usize = 1 << 18;

/// How long open requests may take after a stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// A service that answers until it is stopped.
#[derive(Debug)]
pub struct Service {
    runtime: Runtime,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: tokio::task::JoinHandle<()>,
}

/// What every request needs.
struct Shared {
    queue: RequestQueue,
    /// SHA-256 of the token.
    token: Option<[u8; 32]>,
    page: String,
}

impl Service {
    /// Listens at an address. Requests go to `queue`; with a token, only clients that send it are answered; `page` is the
    /// answer to `/`.
    pub fn bind(
        address: SocketAddr,
        queue: RequestQueue,
        token: Option<Vec<u8>>,
        page: String,
    ) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            queue,
            token: token.map(|token| Sha256::digest(token).into()),
            page,
        });
        let app = Router::new().fallback(answer).with_state(shared);
        let (stop, stopped) = oneshot::channel();
        let served = axum::serve(Guarded::new(listener), app).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let done = runtime.spawn(async {
            let _ = served.await;
        });
        Ok(Self {
            runtime,
            address,
            stop,
            done,
        })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more requests, answers the open ones, and ends.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let done = async { tokio::time::timeout(LAST_ANSWERS, self.done).await };
        let _ = self.runtime.block_on(done);
        self.runtime.shutdown_timeout(Duration::from_millis(100));
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    match path {
        "/healthz" => return reply_with(StatusCode::OK, json!({ "ok": true }).to_string()),
        "/" if parts.method == Method::GET => return page(&shared.page),
        _ => {}
    }
    if let Err(message) = is_allowed(&parts.headers, shared.token.as_ref()) {
        let refusal = Refusal::invalid(message);
        let status = match shared.token {
            Some(_) => StatusCode::UNAUTHORIZED,
            None => StatusCode::BAD_REQUEST,
        };
        return reply_with(status, refusal.json().to_string());
    }
    // Read in any case, so that the connection can be reused.
    let body = read_body(body).await;
    let request = match (&parts.method, path.strip_prefix("/v1/")) {
        (&Method::GET, Some("state")) => Ok(Request::State),
        (&Method::GET, Some("view")) => Ok(Request::View),
        (&Method::POST, Some(op)) if EVENTS.contains(&op) => {
            body.and_then(|body| Request::parse_op(op, &body))
        }
        _ => {
            let message = format!(
                "no such address; accepted: POST /v1/{}; GET /v1/state, /healthz, /",
                EVENTS.join(", ")
            );
            Err(Refusal::new(Code::Unknown, message))
        }
    };
    let reply = match request {
        Ok(request) => ask(&shared.queue, request).await,
        Err(refusal) => Err(refusal),
    };
    match reply {
        Ok(answer) => reply_with(StatusCode::OK, answer.to_string()),
        Err(refusal) => reply_with(status(refusal.code), refusal.json().to_string()),
    }
}

async fn read_body(body: Body) -> Result<Bytes, Refusal> {
    match to_bytes(body, READ_LIMIT).await {
        Ok(body) if body.len() <= BODY_LIMIT => Ok(body),
        _ => {
            let message = format!("request: more than {BODY_LIMIT} bytes, or cut short");
            Err(Refusal::invalid(message))
        }
    }
}

async fn ask(queue: &RequestQueue, request: Request) -> Reply {
    let (sender, receiver) = oneshot::channel();
    let reply = Box::new(move |reply: Reply| drop(sender.send(reply)));
    if !queue.try_send(Job { request, reply }) {
        let message = "too many requests wait; try again later";
        return Err(Refusal::new(Code::Storage, message));
    }
    let ended = |_| Refusal::new(Code::Storage, "the service ends; try again later");
    receiver.await.map_err(ended)?
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Unknown => StatusCode::NOT_FOUND,
        Code::Conflict | Code::Closed => StatusCode::CONFLICT,
        Code::Storage => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// With a token, every client that sends it. Without one, programs of this machine, but no page of another site in a browser.
fn is_allowed(headers: &HeaderMap, token: Option<&[u8; 32]>) -> Result<(), &'static str> {
    let text = |name| {
        headers
            .get(name)
            .and_then(|v: &HeaderValue| v.to_str().ok())
    };
    if let Some(token) = token {
        let found = text(header::AUTHORIZATION).and_then(|v| v.strip_prefix("Bearer "));
        let found: [u8; 32] = Sha256::digest(found.unwrap_or_default().trim()).into();
        // In constant time: all bytes are compared.
        let different = found.iter().zip(token).fold(0, |d, (a, b)| d | (a ^ b));
        return match different {
            0 => Ok(()),
            _ => Err("token: found another or none; accepted: Authorization: Bearer TOKEN"),
        };
    }
    let host = text(header::HOST).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => host.split(':').next(),
    };
    if !matches!(name, Some("localhost" | "127.0.0.1" | "::1")) {
        return Err("host: found another; accepted: localhost, 127.0.0.1 or [::1]");
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.strip_prefix("http://") != Some(host) => {
            Err("origin: found another site; accepted: this service's own page")
        }
        _ => Ok(()),
    }
}

fn reply_with(status: StatusCode, body: String) -> Response {
    let kind = (header::CONTENT_TYPE, "application/json");
    let fresh = (header::CACHE_CONTROL, "no-store");
    (status, [kind, fresh], body).into_response()
}

fn page(page: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    (headers, page.to_string()).into_response()
}
