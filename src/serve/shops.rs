//! The shops of a service by name.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use serde_json::{Value, json};

use crate::learner::live::RequestQueue;

/// A shop, or why it is not served.
#[derive(Clone)]
pub enum Shop {
    /// Requests go here.
    Served(RequestQueue),
    /// Its folder cannot be served.
    Broken(String),
}

impl Shop {
    /// Whether a decision would be answered.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Served(queue) => queue.is_running() && queue.figures().writable,
            Self::Broken(_) => false,
        }
    }
}

/// The shops of a service. They may come and go while it runs.
#[derive(Default)]
pub struct Shops(RwLock<BTreeMap<String, Shop>>);

impl Shops {
    /// Adds a shop, or puts another in its place.
    pub fn insert(&self, name: &str, shop: Shop) {
        let mut shops = self.0.write().unwrap_or_else(PoisonError::into_inner);
        shops.insert(name.into(), shop);
    }

    /// Takes a shop away.
    pub fn remove(&self, name: &str) -> Option<Shop> {
        let mut shops = self.0.write().unwrap_or_else(PoisonError::into_inner);
        shops.remove(name)
    }

    /// A shop.
    pub fn get(&self, name: &str) -> Option<Shop> {
        let shops = self.0.read().unwrap_or_else(PoisonError::into_inner);
        shops.get(name).cloned()
    }

    /// The name of the first shop.
    pub fn first(&self) -> Option<String> {
        let shops = self.0.read().unwrap_or_else(PoisonError::into_inner);
        shops.keys().next().cloned()
    }

    /// All shops.
    pub fn all(&self) -> Vec<(String, Shop)> {
        let shops = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let pair = |(name, shop): (&String, &Shop)| (name.clone(), shop.clone());
        shops.iter().map(pair).collect()
    }

    /// The answer to a request for the list.
    pub fn list(&self) -> Value {
        let shops = self.all().into_iter().map(|(name, shop)| match &shop {
            Shop::Served(queue) => {
                let figures = queue.figures();
                json!({
                    "shop": name,
                    "ready": shop.is_ready(),
                    "open": figures.open,
                    "episodes": figures.episodes,
                    "decisions": figures.decisions,
                    "units": figures.open.then_some(figures.units),
                    "held": figures.open.then_some(figures.held),
                })
            }
            Shop::Broken(why) => json!({ "shop": name, "ready": false, "error": why }),
        });
        json!({ "ok": true, "shops": shops.collect::<Vec<_>>() })
    }
}
