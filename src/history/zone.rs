//! The time zone of a task: an offset such as `+01:00`, or a name such as `Europe/Vienna` with its daylight saving.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use serde::{Deserialize, Serialize};

/// Largest offset, in seconds.
const LARGEST: i32 = 18 * 3600;

/// A time zone, which keeps the text it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    text: String,
    zone: TimeZone,
}

impl Zone {
    /// Reads `Z`, `+01:00` or `Europe/Vienna`. The error says what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fixed = offset_of(text).and_then(|seconds| Offset::from_seconds(seconds).ok());
        let zone = match fixed {
            Some(offset) => Some(TimeZone::fixed(offset)),
            None => TimeZone::get(text).ok(),
        };
        let accepted = "accepted: an offset such as +01:00, or a name such as Europe/Vienna";
        Ok(Self {
            zone: zone.ok_or_else(|| format!("found `{text}`; {accepted}"))?,
            text: text.into(),
        })
    }

    /// Seconds that the zone's clocks are ahead of UTC, at a time in seconds since 1970 or, in a zone without daylight
    /// saving, at any time.
    pub fn offset(&self, utc: Option<i64>) -> Option<i32> {
        match utc {
            Some(utc) => Some(
                self.zone
                    .to_offset(Timestamp::from_second(utc).ok()?)
                    .seconds(),
            ),
            None => self.zone.to_fixed_offset().ok().map(Offset::seconds),
        }
    }
}

impl TryFrom<String> for Zone {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.text
    }
}

/// Seconds ahead of UTC of `Z`, `+01:00`, `-0530` or `+9`.
pub fn offset_of(text: &str) -> Option<i32> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some((hours, minutes)), _) if minutes.len() == 2 => (hours, minutes),
        (None, 1 | 2) => (digits, "0"),
        (None, 4) => digits.split_at_checked(2)?,
        _ => return None,
    };
    let whole = |part: &str| {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse::<i32>().ok().filter(|_| digits)
    };
    let (hours, minutes) = (whole(hours)?, whole(minutes).filter(|m| *m < 60)?);
    let seconds = hours * 3600 + minutes * 60;
    (seconds <= LARGEST).then_some(sign * seconds)
}
