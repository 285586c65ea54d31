//! Who may ask for what: keys with roles, from a token file.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

/// Fewest bytes of a token.
const TOKEN_BYTES: usize = 16;

/// What a key allows; each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// To see states, pages and metrics.
    Read,
    /// To run the day: all requests about customers and episodes.
    Decide,
    /// To change stock, data and the list of shops by hand.
    Manage,
}

impl Role {
    fn of(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::Read),
            "decide" => Some(Self::Decide),
            "manage" => Some(Self::Manage),
            _ => None,
        }
    }

    /// The role that a request needs.
    pub fn needed_for(op: &str) -> Self {
        match op {
            "state" | "view" | "shops" | "metrics" | "openapi" => Self::Read,
            "adjust" | "forget" | "rescan" => Self::Manage,
            _ => Self::Decide,
        }
    }
}

/// The keys of a service.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    /// SHA-256 of the token, in UTF-8 and, if it can be written so, in Latin-1: clients send either.
    digests: Vec<[u8; 32]>,
    role: Role,
    /// `None` means all.
    shops: Option<Vec<String>>,
}

impl Keys {
    /// Reads a token file: on each line a token, which allows everything, or `ROLE TOKEN`, or `ROLE TOKEN SHOP,SHOP`. Empty
    /// lines and lines that begin with `#` are skipped. The error has the 1-based line.
    pub fn parse(text: &[u8]) -> Result<Self, (usize, String)> {
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(text.split(|b| *b == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            keys.push(Key::parse(line).map_err(|message| (number, message))?);
        }
        match keys.is_empty() {
            true => Err((
                1,
                "found no token; accepted: one of 16 bytes or more".into(),
            )),
            false => Ok(Self(keys)),
        }
    }

    /// Whether there is none: then only programs of this machine may ask.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request with these headers may ask for `op` of a shop (`None`: of the service as a whole).
    pub fn check(
        &self,
        headers: &HeaderMap,
        op: &str,
        shop: Option<&str>,
    ) -> Result<(), (StatusCode, &'static str)> {
        if self.is_empty() {
            return check_origin(headers).map_err(|message| (StatusCode::BAD_REQUEST, message));
        }
        let sent = headers.get(header::AUTHORIZATION);
        let sent: [u8; 32] = Sha256::digest(bearer(sent).unwrap_or_default()).into();
        // All keys and all bytes are compared, so that the time tells nothing.
        let mut found = None;
        for key in &self.0 {
            for digest in &key.digests {
                let different = digest.iter().zip(&sent).fold(0, |d, (a, b)| d | (a ^ b));
                if different == 0 {
                    found = Some(key);
                }
            }
        }
        let Some(key) = found else {
            let message = "token: found another or none; accepted: Authorization: Bearer TOKEN";
            return Err((StatusCode::UNAUTHORIZED, message));
        };
        if key.role < Role::needed_for(op) {
            let message =
                "token: its role does not allow this request; accepted: a key with a higher role";
            return Err((StatusCode::FORBIDDEN, message));
        }
        match (&key.shops, shop) {
            (Some(shops), Some(shop)) if !shops.iter().any(|s| s == shop) => {
                let message = "token: found one for other shops; accepted: a key for this shop";
                Err((StatusCode::FORBIDDEN, message))
            }
            (Some(_), None) if op != "shops" => {
                let message = "token: found one for some shops; accepted: a key for all shops";
                Err((StatusCode::FORBIDDEN, message))
            }
            _ => Ok(()),
        }
    }
}

impl Key {
    fn parse(line: &[u8]) -> Result<Self, String> {
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        let role = |word: &[u8]| {
            let word = text(word);
            Role::of(&word)
                .ok_or("found another role; accepted: read, decide or manage, then the token")
        };
        let (role, token, shops) = match words[..] {
            [token] => (Role::Manage, token, None),
            [first, token] => (role(first)?, token, None),
            [first, token, shops] => {
                let shops = text(shops).split(',').map(String::from).collect();
                (role(first)?, token, Some(shops))
            }
            _ => return Err("found too many words; accepted: ROLE TOKEN SHOP,SHOP".into()),
        };
        if token.len() < TOKEN_BYTES {
            let length = token.len();
            return Err(format!(
                "found a token of {length} bytes; accepted: {TOKEN_BYTES} or more"
            ));
        }
        let mut digests = vec![Sha256::digest(token).into()];
        if let Ok(text) = std::str::from_utf8(token)
            && !text.is_ascii()
        {
            let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
            digests.extend(latin.map(|latin| <[u8; 32]>::from(Sha256::digest(latin))));
        }
        Ok(Self {
            digests,
            role,
            shops,
        })
    }
}

/// The token of a header. The name of the scheme may be written in any case.
fn bearer(header: Option<&HeaderValue>) -> Option<&[u8]> {
    let (scheme, token) = header?.as_bytes().split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// Without keys: programs of this machine, but no page of another site in a browser.
fn check_origin(headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = name.parse::<std::net::IpAddr>();
    if name != "localhost" && !address.is_ok_and(|address| address.is_loopback()) {
        return Err(
            "host: found another; accepted: localhost, or a loopback address such as 127.0.0.1 or [::1]",
        );
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.strip_prefix("http://") != Some(host) => {
            Err("origin: found another site; accepted: this service's own page")
        }
        _ => Ok(()),
    }
}
