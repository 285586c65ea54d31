//! Live learners over HTTP/1.1. It opens no files and prints nothing.

mod guard;
mod keys;
mod metrics;
mod shops;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{Request as HttpRequest, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

use crate::learner::live::{Code, EVENTS, Job, Refusal, Reply, Request, RequestQueue};
use guard::{Guarded, Peer};
use metrics::Metrics;

pub use keys::{Keys, Role};
pub use shops::{Shop, Shops};

/// Most bytes of a request, and most bytes read before the connection is closed.
const BODY_LIMIT: usize = 1 << 16;
const READ_LIMIT: usize = 1 << 18;

/// How long an answer may take: a plan can take minutes.
const WORK: Duration = Duration::from_secs(600);

/// How long open requests may take after a stop, and when those that wait for a plan are refused.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const LAST_WORK: Duration = Duration::from_secs(3);

/// Threads that receive and send, and most threads that look for shops.
const WORKERS: usize = 2;
const BLOCKING: usize = 2;

/// Stack of a thread. It is stated, so that the limits of the process's first thread do not matter.
const STACK: usize = 2 << 20;

/// What a service serves.
pub struct Settings {
    /// The shops.
    pub shops: Arc<Shops>,
    /// Whether there is one shop, whose name may be left out.
    pub single: bool,
    /// Who may ask.
    pub keys: Keys,
    /// The page of a shop by its name, and of the list of shops (`None`).
    pub page: fn(Option<&str>) -> String,
    /// Looks for shops that came or went, and answers what it found.
    pub rescan: Box<dyn Fn() -> Value + Send + Sync>,
}

/// A service that answers until it is stopped.
#[derive(Debug)]
pub struct Service {
    runtime: Runtime,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ending: watch::Sender<bool>,
    done: tokio::task::JoinHandle<()>,
}

/// What every request needs.
struct Shared {
    settings: Settings,
    metrics: Metrics,
    ending: watch::Receiver<bool>,
}

impl Service {
    /// Listens at an address.
    pub fn bind(address: SocketAddr, settings: Settings) -> std::io::Result<Self> {
        try_threads(WORKERS + BLOCKING)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING)
            .thread_stack_size(STACK)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let (ending, end) = watch::channel(false);
        let shared = Arc::new(Shared {
            metrics: Metrics::new(Arc::clone(&settings.shops)),
            settings,
            ending: end,
        });
        let app = Router::new().fallback(answer).with_state(shared);
        let app = app.into_make_service_with_connect_info::<Peer>();
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
            ending,
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
        let ending = self.ending;
        self.runtime.spawn(async move {
            tokio::time::sleep(LAST_WORK).await;
            let _ = ending.send(true);
            std::future::pending::<()>().await;
        });
        let done = async { tokio::time::timeout(LAST_ANSWERS, self.done).await };
        let _ = self.runtime.block_on(done);
        self.runtime.shutdown_timeout(Duration::from_millis(100));
    }
}

/// Starts threads and ends them: the runtime panics where the system allows no more.
fn try_threads(count: usize) -> std::io::Result<()> {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = Arc::new(std::sync::Mutex::new(receiver));
    let start = |_| {
        let receiver = Arc::clone(&receiver);
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn(move || {
            let receiver = receiver.lock();
            let _ = receiver.map(|receiver| receiver.recv());
        })
    };
    let threads: Vec<_> = (0..count).map(start).collect();
    drop(sender);
    for thread in threads {
        let _ = thread?.join();
    }
    Ok(())
}

/// What a path asks for.
enum Asked<'p> {
    /// A request to a shop; no name means the only one.
    Shop(Option<&'p str>, &'p str),
    /// Something about the service.
    Service(&'static str),
    /// A page: of a shop, or of the list.
    Page(Option<&'p str>),
    Nothing,
}

fn asked<'p>(method: &Method, path: &'p str) -> Asked<'p> {
    let get = *method == Method::GET;
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments[..] {
        [""] if get => Asked::Page(None),
        ["v1", shop, ""] if get => Asked::Page(Some(shop)),
        ["livez" | "healthz"] => Asked::Service("live"),
        ["readyz"] => Asked::Service("ready"),
        ["metrics"] if get => Asked::Service("metrics"),
        ["v1", "shops"] if get => Asked::Service("shops"),
        ["v1", "rescan"] if !get => Asked::Service("rescan"),
        ["v1", op] if is_op(method, op) => Asked::Shop(None, op),
        ["v1", shop, op] if is_op(method, op) => Asked::Shop(Some(shop), op),
        _ => Asked::Nothing,
    }
}

fn is_op(method: &Method, op: &str) -> bool {
    match *method {
        Method::GET => matches!(op, "state" | "view"),
        Method::POST => EVENTS.contains(&op),
        _ => false,
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_string();
    match asked(&parts.method, &path) {
        Asked::Service("live") => reply_with(StatusCode::OK, json!({ "ok": true })),
        Asked::Service("ready") => shared.ready(),
        Asked::Page(shop) => shared.page(shop),
        Asked::Service(what) => match shared.settings.keys.check(&parts.headers, what, None) {
            Err(refused) => refuse(refused),
            Ok(()) => {
                peer.is_known();
                let _ = read_body(body).await;
                peer.has_asked();
                shared.about_service(what).await
            }
        },
        Asked::Shop(shop, op) => shared.about_shop(&peer, &parts, body, shop, op).await,
        Asked::Nothing => match shared.settings.keys.check(&parts.headers, "state", None) {
            Err(refused) => refuse(refused),
            Ok(()) => {
                peer.is_known();
                // Read in any case, so that the connection can be reused.
                let _ = read_body(body).await;
                let message = format!(
                    "no such address; accepted: POST /v1/{}; GET /v1/state, /v1/shops, /metrics, /livez, /readyz, /; with several shops /v1/SHOP/begin and so on",
                    EVENTS.join(", ")
                );
                reply(Err(Refusal::new(Code::Unknown, message)))
            }
        },
    }
}

impl Shared {
    /// Ready if some shop would answer a decision: one broken shop must not take the others from the network.
    fn ready(&self) -> Response {
        let shops = self.settings.shops.all();
        let waiting = shops.iter().filter(|(_, shop)| !shop.is_ready()).count();
        let ready = shops.is_empty() || waiting < shops.len();
        let status = match ready {
            true => StatusCode::OK,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        let counts = json!({ "ok": ready, "shops": shops.len(), "not_ready": waiting });
        reply_with(status, counts)
    }

    fn page(&self, shop: Option<&str>) -> Response {
        let only = || self.settings.shops.first();
        let text = match shop {
            None if self.settings.single => (self.settings.page)(only().as_deref()),
            None => (self.settings.page)(None),
            Some(name) if self.settings.shops.get(name).is_some() => (self.settings.page)(shop),
            Some(name) => return reply(Err(no_shop(name))),
        };
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        (headers, text).into_response()
    }

    async fn about_service(self: &Arc<Self>, what: &str) -> Response {
        match what {
            "metrics" => {
                let kind = (header::CONTENT_TYPE, metrics::CONTENT_TYPE);
                ([kind], self.metrics.text()).into_response()
            }
            "rescan" => {
                let shared = Arc::clone(self);
                let found = tokio::task::spawn_blocking(move || (shared.settings.rescan)());
                let failed = |_| Refusal::new(Code::Storage, "the shops could not be read");
                reply(found.await.map_err(failed))
            }
            _ => reply(Ok(self.settings.shops.list())),
        }
    }

    async fn about_shop(
        &self,
        peer: &Peer,
        parts: &Parts,
        body: Body,
        shop: Option<&str>,
        op: &str,
    ) -> Response {
        let start = Instant::now();
        let named = match (shop, self.settings.single) {
            (Some(name), _) => Some(name.to_string()),
            (None, true) => self.settings.shops.first(),
            (None, false) => None,
        };
        let checked = self
            .settings
            .keys
            .check(&parts.headers, op, named.as_deref());
        if let Err(refused) = checked {
            return refuse(refused);
        }
        peer.is_known();
        // Read in any case, so that the connection can be reused.
        let body = read_body(body).await;
        peer.has_asked();
        let found = named
            .as_deref()
            .and_then(|name| self.settings.shops.get(name));
        let answer = match (found, named.as_deref()) {
            (Some(Shop::Served(queue)), _) => match request(op, body) {
                Ok(request) => self.ask(&queue, request).await,
                Err(refusal) => Err(refusal),
            },
            (Some(Shop::Broken(why)), _) => {
                let message = format!("the shop is not served: {why}");
                Err(Refusal::new(Code::Storage, message))
            }
            (None, Some(name)) => {
                // Not counted: the names of shops that do not exist are without number.
                return reply(Err(no_shop(name)));
            }
            (None, None) => {
                let message = "shop: found none in the address; accepted: /v1/SHOP/decide and so on, with a shop of /v1/shops";
                return reply(Err(Refusal::new(Code::Unknown, message)));
            }
        };
        self.metrics
            .count(named.as_deref().unwrap_or(""), op, &answer, start.elapsed());
        reply(answer)
    }

    async fn ask(&self, queue: &RequestQueue, request: Request) -> Reply {
        let (sender, receiver) = oneshot::channel();
        let reply = Box::new(move |reply: Reply| drop(sender.send(reply)));
        if !queue.try_send(Job { request, reply }) {
            let message = match queue.is_running() {
                true => "too many requests wait; try again later",
                false => "the learner ended; start the service again",
            };
            return Err(Refusal::new(Code::Storage, message));
        }
        let mut ending = self.ending.clone();
        let refused = |message: &str| Err(Refusal::new(Code::Storage, message));
        tokio::select! {
            biased;
            answer = receiver => match answer {
                Ok(answer) => answer,
                Err(_) => refused("the service ends; try again later"),
            },
            _ = ending.wait_for(|ends| *ends) => refused("the service ends; try again later"),
            () = tokio::time::sleep(WORK) => {
                refused("the plan takes too long; the request is still worked on: repeat it later")
            }
        }
    }
}

fn request(op: &str, body: Result<Bytes, Refusal>) -> Result<Request, Refusal> {
    match op {
        "state" => Ok(Request::State),
        "view" => Ok(Request::View),
        _ => Request::parse_op(op, &body?),
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

fn no_shop(name: &str) -> Refusal {
    let shown: String = name.chars().take(60).collect();
    let message = format!("shop: found `{shown}`; accepted: a shop of /v1/shops");
    Refusal::new(Code::Unknown, message)
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Unknown => StatusCode::NOT_FOUND,
        Code::Conflict | Code::Closed => StatusCode::CONFLICT,
        Code::Storage => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn refuse((status, message): (StatusCode, &str)) -> Response {
    reply_with(status, Refusal::invalid(message).json())
}

fn reply(answer: Reply) -> Response {
    match answer {
        Ok(answer) => reply_with(StatusCode::OK, answer),
        Err(refusal) => reply_with(status(refusal.code), refusal.json()),
    }
}

fn reply_with(status: StatusCode, body: Value) -> Response {
    let kind = (header::CONTENT_TYPE, "application/json");
    let fresh = (header::CACHE_CONTROL, "no-store");
    (status, [kind, fresh], body.to_string()).into_response()
}
