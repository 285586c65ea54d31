//! `cbwk-gpu serve --listen`.

use super::serve_args::ServeArgs;
use super::serve_shops::{Found, Opener};

#[cfg(not(feature = "serve"))]
pub fn listen(_: &ServeArgs, _: Found, _: Opener) -> anyhow::Result<()> {
    Err(cbwk_gpu::dp::BackendError::Unavailable {
        backend: "serve".into(),
        reason: "this program was built without HTTP; standard input and output remain".into(),
    }
    .into())
}

#[cfg(feature = "serve")]
pub use http::listen;

#[cfg(feature = "serve")]
mod http {
    use std::io::Write;
    use std::net::SocketAddr;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::super::interrupt::Interrupt;
    use super::super::serve::{WAITING, stopped};
    use super::super::serve_shops::folders_of;
    use super::{Found, Opener, ServeArgs};
    use cbwk_gpu::error::InputError;
    use cbwk_gpu::learner::live::{Engine, Level, RequestQueue};
    use cbwk_gpu::report::live::{live_page, shops_page};
    use cbwk_gpu::serve::{Keys, Service, Settings, Shop, Shops};

    pub fn listen(args: &ServeArgs, found: Found, opener: Opener) -> anyhow::Result<()> {
        let keys = args.token_file.as_deref().map(read_keys).transpose()?;
        let keys = keys.unwrap_or_default();
        let address = args.listen.expect("the caller has one");
        check_address(address, &keys)?;
        allow_open_files();
        let interrupt = Interrupt::listen()?;
        let engine = Engine::start(Arc::clone(&opener.notices), found.single)?;
        let all = Arc::new(AllShops {
            engine,
            shops: Arc::default(),
            opener,
            given: args.folders.clone(),
            single: found.single,
            scans: Mutex::new(()),
        });
        all.open(&found.shops)?;
        let rescan = {
            let all = Arc::downgrade(&all);
            move || all.upgrade().map_or(Value::Null, |all| all.rescan())
        };
        let settings = Settings {
            shops: Arc::clone(&all.shops),
            single: found.single,
            keys,
            page: |shop| shop.map_or_else(shops_page, live_page),
            rescan: Box::new(rescan),
        };
        let service = Service::bind(address, settings);
        let service = service.map_err(|error| {
            if error.kind() == std::io::ErrorKind::WouldBlock {
                return anyhow::anyhow!(
                    "the threads of the service cannot be started ({error}); see ulimit -u"
                );
            }
            let message = format!("found {address}; it cannot be listened on ({error})");
            InputError::option("--listen", message).into()
        })?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "listening on http://{}", service.address())?;
        out.flush()?;
        while interrupt.signal().is_none() && all.is_alive() {
            std::thread::sleep(Duration::from_millis(20));
        }
        service.stop();
        match Arc::into_inner(all) {
            Some(all) => stopped(all.engine),
            None => anyhow::bail!("shops are still being read; nothing that was answered is lost"),
        }
    }

    fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
        value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shops and what serves them.
    struct AllShops {
        engine: Engine,
        shops: Arc<Shops>,
        opener: Opener,
        given: Vec<PathBuf>,
        single: bool,
        scans: Mutex<()>,
    }

    impl AllShops {
        /// Opens shops. One that cannot be opened is listed with the reason; if it is the only one, that is the error.
        fn open(&self, shops: &[(String, PathBuf)]) -> anyhow::Result<()> {
            let (checks, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
            self.opener.open_all(shops, |name, opened| match opened {
                Ok((live, check)) => {
                    let queue = self.engine.open(name, live, WAITING);
                    self.shops.insert(name, Shop::Served(queue));
                    lock(&checks).extend(check);
                }
                Err(error) => {
                    if !self.single {
                        (self.opener.notices)(Level::Error, name, &error.to_string());
                    }
                    self.shops.insert(name, Shop::Broken(error.to_string()));
                    *lock(&failed) = Some(error);
                }
            });
            let checks = std::mem::take(&mut *lock(&checks));
            self.opener.check_journals(checks);
            match lock(&failed).take() {
                Some(error) if self.single => Err(error.into()),
                _ => Ok(()),
            }
        }

        /// Looks for shops that came or went, and tries those again that could not be served.
        fn rescan(&self) -> Value {
            let _one = lock(&self.scans);
            let found = match folders_of(&self.given) {
                Ok(found) => found.shops,
                Err(error) => return json!({ "ok": true, "error": error.to_string() }),
            };
            let known = self.shops.all();
            let is_here = |name: &str| found.iter().any(|(n, _)| n == name);
            let gone = known
                .iter()
                .filter(|(name, _)| !self.single && !is_here(name));
            let gone: Vec<&(String, Shop)> = gone.collect();
            for (name, shop) in &gone {
                self.shops.remove(name);
                if let Shop::Served(queue) = shop {
                    self.close(queue);
                }
            }
            let serves = |name: &str| match self.shops.get(name) {
                Some(Shop::Served(queue)) if queue.is_running() => true,
                Some(Shop::Served(queue)) => {
                    // Its folder stays locked as long as somebody has it.
                    self.shops.remove(name);
                    self.close(&queue);
                    false
                }
                _ => false,
            };
            let new: Vec<_> = found
                .into_iter()
                .filter(|(name, _)| !serves(name))
                .collect();
            let _ = self.open(&new);
            let is_served = |name: &&str| matches!(self.shops.get(name), Some(Shop::Served(_)));
            let names = new.iter().map(|(name, _)| name.as_str());
            let (opened, broken): (Vec<_>, Vec<_>) = names.partition(is_served);
            let closed: Vec<_> = gone.iter().map(|(name, _)| name).collect();
            json!({ "ok": true, "opened": opened, "closed": closed, "not_served": broken })
        }

        fn close(&self, queue: &RequestQueue) {
            if let Err(refusal) = self.engine.close(queue) {
                (self.opener.notices)(Level::Warning, queue.name(), &refusal.message);
            }
        }

        /// Whether there is something to serve: a single shop whose learner ended is started again by the system.
        fn is_alive(&self) -> bool {
            !self.single
                || self.shops.all().iter().all(|(_, shop)| match shop {
                    Shop::Served(queue) => queue.is_running(),
                    Shop::Broken(_) => false,
                })
        }
    }

    /// Without a token, only loopback addresses are allowed.
    fn check_address(address: SocketAddr, keys: &Keys) -> anyhow::Result<()> {
        if address.ip().is_loopback() || !keys.is_empty() {
            return Ok(());
        }
        let message = format!(
            "found {address}; accepted: an address of this machine such as 127.0.0.1:7878, or any with --token-file"
        );
        Err(InputError::option("--listen", message).into())
    }

    fn read_keys(file: &Path) -> Result<Keys, InputError> {
        let text = std::fs::read(file).map_err(|error| InputError::unreadable(file, &error))?;
        Keys::parse(&text).map_err(|(line, message)| InputError::at(file, line, message))
    }

    /// Every shop has two open files, every connection one: takes as many as the system allows.
    fn allow_open_files() {
        #[cfg(unix)]
        {
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            let limit = getrlimit(Resource::Nofile);
            let most = Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            };
            let _ = setrlimit(Resource::Nofile, most);
        }
    }
}
