//! The numbers of a service for Prometheus. Labels are shops, kinds of requests and codes of answers, never ids or contexts.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::shops::{Shop, Shops};
use crate::learner::live::{Code, Figures, Reply};

/// The text format of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histograms, in seconds.
const SECONDS: [f64; 12] = [
    0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0, 30.0,
];

type Labels = Vec<(&'static str, String)>;

/// What is counted at every request, and where the rest is found.
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram>,
}

impl Metrics {
    pub fn new(shops: Arc<Shops>) -> Self {
        let requests = Family::default();
        let seconds: Family<Labels, Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let mut registry = Registry::with_prefix("cbwk");
        let help = "Requests by shop, kind and answer (ok, or the code of the error)";
        registry.register("requests", help, requests.clone());
        let help = "Time from a request to its answer, by kind";
        registry.register("request_seconds", help, seconds.clone());
        registry.register_collector(Box::new(OfShops(shops)));
        Self {
            registry,
            requests,
            seconds,
        }
    }

    /// Counts an answer.
    pub fn count(&self, shop: &str, op: &str, answer: &Reply, time: Duration) {
        let code = match answer.as_ref().map_err(|refusal| refusal.code) {
            Ok(_) => "ok",
            Err(Code::Invalid) => "invalid",
            Err(Code::Conflict) => "conflict",
            Err(Code::Unknown) => "unknown",
            Err(Code::Closed) => "closed",
            Err(Code::Storage) => "storage",
        };
        let op = ("op", op.to_string());
        let labels = vec![("shop", shop.into()), op.clone(), ("answer", code.into())];
        self.requests.get_or_create(&labels).inc();
        let seconds = time.as_secs_f64();
        self.seconds.get_or_create(&vec![op]).observe(seconds);
    }

    /// All metrics as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(_) => String::new(),
        }
    }
}

/// The numbers of the shops, read when they are asked for.
struct OfShops(Arc<Shops>);

impl std::fmt::Debug for OfShops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OfShops")
    }
}

type Number = fn(&Figures) -> Option<f64>;

/// Gauges: name, help, number.
const GAUGES: [(&str, &str, Number); 12] = [
    ("journal_bytes", "Bytes of the journal", |f| {
        Some(f.journal_bytes as f64)
    }),
    ("journal_lines", "Lines of the journal", |f| {
        Some(f.lines as f64)
    }),
    ("plan_seconds", "Time that the last plan took", |f| {
        f.plan_seconds
    }),
    (
        "plan_timestamp_seconds",
        "When the last plan was made, since 1970",
        |f| f.planned_ms.map(|ms| ms as f64 / 1000.0),
    ),
    ("planning", "1 while a plan is made", |f| {
        Some(f64::from(u8::from(f.planning)))
    }),
    ("episode_open", "1 while an episode is open", |f| {
        Some(f64::from(u8::from(f.open)))
    }),
    (
        "units",
        "Units left in the open episode, held ones included",
        |f| f.open.then_some(f64::from(f.units)),
    ),
    ("held", "Units held by offers without an outcome", |f| {
        f.open.then_some(f64::from(f.held))
    }),
    (
        "oversold",
        "Accepted offers of the open episode for which no unit was left",
        |f| f.open.then_some(f64::from(f.oversold)),
    ),
    ("episodes", "Episodes begun", |f| Some(f.episodes as f64)),
    (
        "reward_expected",
        "Expected reward of the ended episodes, where it was known at their start",
        |f| Some(f.expected),
    ),
    ("reward_earned", "Reward of the ended episodes", |f| {
        Some(f.earned)
    }),
];

/// Counters since the start of the service: name, help, number.
const COUNTERS: [(&str, &str, Number); 2] = [
    ("syncs", "Syncs of the journal", |f| Some(f.syncs as f64)),
    ("sync_seconds", "Time that these syncs took", |f| {
        Some(f.sync_seconds)
    }),
];

impl Collector for OfShops {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let shops: Vec<(String, bool, Option<Figures>)> = self
            .0
            .all()
            .into_iter()
            .map(|(name, shop)| {
                let ready = shop.is_ready();
                match shop {
                    Shop::Served(queue) => (name, ready, Some(queue.figures())),
                    Shop::Broken(_) => (name, ready, None),
                }
            })
            .collect();
        let gauge = ConstGauge::new(shops.len() as f64);
        let kind = gauge.metric_type();
        gauge.encode(encoder.encode_descriptor("shops", "Shops, served or not", None, kind)?)?;
        let help = "1 if a decision would be answered";
        let mut family = encoder.encode_descriptor("ready", help, None, kind)?;
        for (name, ready, _) in &shops {
            let labels = [("shop", name.as_str())];
            let gauge = ConstGauge::new(f64::from(u8::from(*ready)));
            gauge.encode(family.encode_family(&labels)?)?;
        }
        let numbers = |number: Number| {
            let served = shops.iter().filter_map(move |(name, _, figures)| {
                let number = number(figures.as_ref()?)?;
                Some(([("shop", name.as_str())], number))
            });
            served.collect::<Vec<_>>()
        };
        for (name, help, number) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, number) in numbers(number) {
                ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
            }
        }
        let kind = ConstCounter::new(0.0).metric_type();
        for (name, help, number) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, number) in numbers(number) {
                ConstCounter::new(number).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
