//! Own code in study files: tables of kind `own` say where it is found; a program that can run it brings a finder.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Read, Section};
use crate::oracle::MakeOracle;
use crate::policy::MakePolicy;
use crate::task::{Own, OwnCode};
use crate::world::{OwnConversion, OwnLaw};

/// What runs own code, if it can be found; an error says what was found instead and what is accepted.
pub type Found<T> = Result<Option<Arc<T>>, String>;

/// Finds own code. `object` is the key of that name, with which a caller refers to an object of its own; it is not part of
/// the resolved study.
pub trait FindOwn: Debug + Send + Sync {
    /// A policy.
    fn policy(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn MakePolicy>;

    /// An oracle.
    fn oracle(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn MakeOracle>;

    /// A conversion.
    fn conversion(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn OwnConversion>;

    /// A context law.
    fn law(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn OwnLaw>;
}

/// The keys of own code: `module`, `class`, `arguments`, `instance` and `source`.
pub(super) fn own<T: ?Sized>(
    s: &mut Section,
    find: impl FnOnce(&dyn FindOwn, &OwnCode, Option<u64>) -> Found<T>,
) -> Read<Own<T>> {
    let text = |s: &mut Section, key| Ok(s.optional_text(key)?.unwrap_or_default());
    let named = |s: &mut Section, key| match s.optional_text(key)? {
        Some(text) => Ok(text),
        None => Err(s.missing(key, "a text in quotes")),
    };
    let code = OwnCode {
        module: named(s, "module")?,
        class: named(s, "class")?,
        arguments: text(s, "arguments")?,
        instance: s.has("instance") && s.flag_or("instance", false)?,
        source: text(s, "source")?,
    };
    let Some(finder) = s.document().own() else {
        return Ok(Own { code, runs: None });
    };
    let object = s.reference("object")?;
    let runs = find(finder, &code, object).map_err(|message| s.refuse(&message))?;
    Ok(Own { code, runs })
}
