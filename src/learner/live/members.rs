//! From JSON objects to the structs of requests. An error names the member, what was found and what is accepted.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqAccessDeserializer};
use serde::de::{
    self, DeserializeOwned, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

use super::Refusal;

/// Reads the request `op` from the members of an object.
pub(super) fn read<T: DeserializeOwned>(
    op: &str,
    mut body: Map<String, Value>,
) -> Result<T, Refusal> {
    let mut missing = None;
    loop {
        let members = body.iter();
        let members = members.map(|(name, value)| (name.as_str(), Member { name, value }));
        match T::deserialize(MapDeserializer::new(members)) {
            Ok(request) => return Ok(request),
            // Read as null, so that its type says what it accepts.
            Err(Wrong::Missing(name)) => {
                body.insert(name.to_string(), Value::Null);
                missing = Some(name);
            }
            Err(Wrong::Unknown(name, members)) => {
                let found = shown(&Value::from(name));
                let accepted = match members.is_empty() {
                    true => "no member".to_string(),
                    false => members.join(", "),
                };
                return Err(Refusal::invalid(format!(
                    "{op}: found the member {found}; accepted: {accepted}"
                )));
            }
            Err(Wrong::Member(name, accepted)) => {
                let found = body.get(&name).filter(|_| missing != Some(name.as_str()));
                return Err(wrong(&name, found, &accepted));
            }
            Err(Wrong::Other(message)) => return Err(Refusal::invalid(format!("{op}: {message}"))),
        }
    }
}

/// A refusal of a member; `None` stands for one that is missing.
pub(super) fn wrong(name: &str, found: Option<&Value>, accepted: &str) -> Refusal {
    let found = found.map_or("nothing".into(), shown);
    Refusal::invalid(format!("{name}: found {found}; accepted: {accepted}"))
}

/// A value for messages, shortened.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(list) => return format!("a list of {}", list.len()),
        Value::Object(_) => return "an object".into(),
        other => other.to_string(),
    };
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// What is wrong with an object.
#[derive(Debug)]
enum Wrong {
    /// A member is missing.
    Missing(&'static str),
    /// A member is unknown; with the known ones.
    Unknown(String, &'static [&'static str]),
    /// A member is wrong; with what it accepts.
    Member(String, String),
    Other(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::Unknown(field.into(), expected)
    }
}

/// A member of an object: a deserializer whose errors have its name.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'de> IntoDeserializer<'de, Wrong> for Member<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Member<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let read = self.value.deserialize_any(visitor);
        read.map_err(|error| Wrong::Member(self.name.into(), error.to_string()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads a member through a check; `accepted` is the message of its error.
pub(super) fn accept<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    accepted: &str,
    check: impl FnOnce(Value) -> Option<T>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(Checked { accepted, check })
}

struct Checked<'a, C> {
    accepted: &'a str,
    check: C,
}

impl<C> Checked<'_, C> {
    fn of<T, E: de::Error>(self, value: Value) -> Result<T, E>
    where
        C: FnOnce(Value) -> Option<T>,
    {
        (self.check)(value).ok_or_else(|| E::custom(self.accepted))
    }
}

impl<'de, T, C: FnOnce(Value) -> Option<T>> Visitor<'de> for Checked<'_, C> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.accepted)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        self.of(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        self.of(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        self.of(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        self.of(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<T, E> {
        self.of(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        self.of(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        let list = Value::deserialize(SeqAccessDeserializer::new(list))?;
        self.of(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        let object = Value::deserialize(MapAccessDeserializer::new(object))?;
        self.of(object)
    }
}
