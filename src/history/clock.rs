//! Times of day, and how opening hours are divided into steps.

use serde::{Deserialize, Serialize};

use super::calendar::{DateOrder, civil, day_number};
use super::zone::{Zone, offset_of};
use crate::error::Invalid;

/// Seconds of a day.
const DAY: u32 = 86_400;

/// A local time, with its day if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Days since 1970-01-01.
    pub day: Option<i64>,
    /// Seconds since midnight.
    pub second: u32,
    /// Seconds ahead of UTC, if a zone was given.
    pub offset: Option<i32>,
}

impl Moment {
    /// Reads `2026-11-16 09:30`, `2026-11-16T09:30:05Z`, `16.11.2026 09:30`, `09:30:05`, `9:30 PM`, or seconds (or
    /// milliseconds) since 1970; `16/11/2026` or `11/16/2026` if the order of days and months is known. The local time
    /// counts; a zone is kept beside it, for [`Moment::local`].
    pub fn parse(text: &str, order: Option<DateOrder>) -> Option<Self> {
        if let Ok(number) = text.parse::<f64>() {
            return Self::since_epoch(number);
        }
        let dated = text.split_once(['T', ' ']);
        let (date, time) = match dated.filter(|(date, _)| !date.contains(':')) {
            Some((date, time)) => (Some(date), time.trim()),
            None => (None, text),
        };
        let day = match date {
            Some(date) => Some(day_number(date, order)?),
            None => None,
        };
        let (second, offset) = second_of(time)?;
        Some(Self {
            day,
            second,
            offset,
        })
    }

    /// The same moment on the clocks of a zone. A time without a zone of its own is taken as local; a time of day without
    /// its date has none in a zone with daylight saving.
    pub fn local(self, zone: &Zone) -> Option<Self> {
        let Some(offset) = self.offset else {
            return Some(self);
        };
        let utc = self.absolute() - i64::from(offset);
        let ahead = zone.offset(self.day.map(|_| utc))?;
        let local = utc + i64::from(ahead);
        Some(Self {
            day: self.day.map(|_| local.div_euclid(i64::from(DAY))),
            second: local.rem_euclid(i64::from(DAY)) as u32,
            offset: Some(ahead),
        })
    }

    /// Whether a text is a time or a date in any format.
    pub fn is_date(text: &str) -> bool {
        Self::of_day(text).is_some() || Self::of_day(&format!("{text} 00:00")).is_some()
    }

    /// A time of which only the time of day matters, and so not the order of days and months.
    pub fn of_day(text: &str) -> Option<Self> {
        let orders = [DateOrder::DayFirst, DateOrder::MonthFirst];
        let mut moments = orders.iter().map(|order| Self::parse(text, Some(*order)));
        moments.find_map(|moment| moment)
    }

    fn since_epoch(number: f64) -> Option<Self> {
        // Other numbers are more likely hours or ids.
        let seconds = match number {
            x if (1e8..1e11).contains(&x) => x,
            x if (1e11..1e14).contains(&x) => x / 1000.0,
            _ => return None,
        };
        let seconds = seconds.floor() as i64;
        Some(Self {
            day: Some(seconds.div_euclid(i64::from(DAY))),
            second: seconds.rem_euclid(i64::from(DAY)) as u32,
            offset: Some(0),
        })
    }

    /// Seconds since 1970, or since midnight if the day is not known.
    pub fn absolute(&self) -> i64 {
        self.day.unwrap_or(0) * i64::from(DAY) + i64::from(self.second)
    }

    /// Its day as `2026-11-16`.
    pub fn date(&self) -> Option<String> {
        self.day.map(date_of)
    }
}

/// A day since 1970 as `2026-11-16`.
pub fn date_of(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds since midnight of `9:30`, `09:30:05.25`, `09:30:05+01:00`, `9:30 PM`, and its offset.
fn second_of(time: &str) -> Option<(u32, Option<i32>)> {
    const NOON: u32 = DAY / 2;
    let at = time
        .len()
        .checked_sub(2)
        .filter(|at| time.is_char_boundary(*at));
    let (clock, half) = time.split_at(at.unwrap_or(0));
    let start = match half.to_ascii_lowercase().as_str() {
        "am" => 0,
        "pm" => NOON,
        _ => return second_of_day(time),
    };
    // 12:30 AM is half past midnight, 12:30 PM half past noon.
    let (second, offset) = second_of_day(clock)?;
    let is_valid = (3600..NOON + 3600).contains(&second);
    is_valid.then_some((start + second % NOON, offset))
}

fn second_of_day(time: &str) -> Option<(u32, Option<i32>)> {
    let end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let offset = match time[end..].trim() {
        "" => None,
        zone => Some(offset_of(zone)?),
    };
    let mut parts = time[..end].trim().split(':');
    let whole = |part: &str, limit: u32| {
        let digits =
            !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
        part.parse().ok().filter(|x| digits && *x < limit)
    };
    let hour = whole(parts.next()?, 24)?;
    let minute = whole(parts.next()?, 60)?;
    let second = match parts.next() {
        Some(part) => {
            let (seconds, fraction) = part.split_once(['.', ',']).unwrap_or((part, "0"));
            if !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            whole(seconds, 60)?
        }
        None => 0,
    };
    parts
        .next()
        .is_none()
        .then_some((hour * 3600 + minute * 60 + second, offset))
}

/// When an episode opens and closes; the time between is divided into equal steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningHours {
    /// `HH:MM` or `HH:MM:SS`.
    #[serde(with = "time_of_day")]
    pub open: u32,
    /// Likewise; if not after `open`, on the next day.
    #[serde(with = "time_of_day")]
    pub close: u32,
}

impl std::fmt::Display for OpeningHours {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} to {}", show_time(self.open), show_time(self.close))
    }
}

impl OpeningHours {
    /// Whole hours that include both times.
    pub fn around(earliest: u32, latest: u32) -> Self {
        let open = earliest / 3600 * 3600;
        let close = latest.div_ceil(3600) * 3600;
        Self {
            open,
            close: close.max(open + 3600) % DAY,
        }
    }

    /// Checks that both are times of day.
    pub fn check(&self) -> Result<(), Invalid> {
        for (name, time) in [("clock.open", self.open), ("clock.close", self.close)] {
            if time >= DAY {
                return Err(Invalid::new(name, time, "a time of day"));
            }
        }
        Ok(())
    }

    /// The day whose episode a dated time belongs to: after midnight it is the day before, until the hour of opening.
    pub fn day_of(&self, moment: &Moment) -> Option<i64> {
        let after_midnight = self.close <= self.open && moment.second < self.open;
        moment.day.map(|day| day - i64::from(after_midnight))
    }

    /// Seconds since the opening.
    pub fn since_opening(&self, second: u32) -> u32 {
        (second + DAY - self.open) % DAY
    }

    /// Seconds between opening and closing.
    pub fn span(&self) -> u32 {
        match self.close > self.open {
            true => self.close - self.open,
            false => self.close + DAY - self.open,
        }
    }

    /// The step (1-based) of a time of day, `None` outside the hours; closing time belongs to the last step.
    pub fn step(&self, second: u32, steps: usize) -> Option<usize> {
        let since = self.since_opening(second);
        let span = self.span();
        if since > span {
            return None;
        }
        let step = (since as u64 * steps as u64 / u64::from(span)) as usize + 1;
        Some(step.min(steps))
    }

    /// When a step (1-based) begins, as `HH:MM`.
    pub fn start_of(&self, step: usize, steps: usize) -> String {
        let since = (u64::from(self.span()) * (step as u64 - 1) / steps as u64) as u32;
        show_time((self.open + since) % DAY)
    }
}

/// A time of day as `HH:MM`, or `HH:MM:SS` with seconds.
pub fn show_time(second: u32) -> String {
    let (hour, minute, rest) = (second / 3600, second / 60 % 60, second % 60);
    match rest {
        0 => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{rest:02}"),
    }
}

/// Parses a time of day.
pub fn parse_time(text: &str) -> Option<u32> {
    second_of(text.trim()).map(|(second, _)| second)
}

mod time_of_day {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(second: &u32, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&super::show_time(*second))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_time(&text)
            .ok_or_else(|| D::Error::custom(format!("found `{text}`; accepted: a time as HH:MM")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_several_formats() {
        let noon = 12 * 3600;
        for text in [
            "2026-11-16 12:00",
            "2026-11-16T12:00:00Z",
            "2026/11/16 12:00:00.25",
            "16.11.2026 12:00",
            "2026-11-16T12:00:00+01:00",
            "1794830400",
            "1794830400000",
        ] {
            let moment = Moment::parse(text, None).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (moment.date().as_deref(), moment.second),
                (Some("2026-11-16"), noon),
                "{text}"
            );
        }
        let second = |text| Moment::parse(text, None).map(|moment| moment.second);
        assert_eq!(second("9:05"), Some(9 * 3600 + 300));
        assert_eq!(second("9:05 pm"), Some(21 * 3600 + 300));
        assert_eq!(second("12:30AM"), Some(1800));
        assert_eq!(second("12:30 PM"), Some(noon + 1800));
        for wrong in [
            "",
            "noon",
            "25:00",
            "12:60",
            "2026-02-30 12:00",
            "2026-13-01 12:00",
            "12",
            "2026-11-16",
            "11/16/2026 12:00",
            "12:00:61",
            "12:00:00:00",
            "1::2",
            "13:00 PM",
            "0:30 AM",
            "AM",
            "é",
        ] {
            assert_eq!(second(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn zones_are_converted_and_times_without_one_are_local() {
        let at = |text: &str, zone: &str| {
            let zone = Zone::parse(zone).unwrap();
            let moment = Moment::parse(text, None)?.local(&zone)?;
            Some((moment.date(), show_time(moment.second)))
        };
        let is = |day: &str, time: &str| Some((Some(day.to_string()), time.to_string()));
        let (vienna, winter, summer) = ("Europe/Vienna", "2026-11-16", "2026-07-16");
        assert_eq!(at("2026-11-16T10:00Z", vienna), is(winter, "11:00"));
        assert_eq!(at("2026-07-16T10:00Z", vienna), is(summer, "12:00"));
        assert_eq!(at("2026-11-16T10:00+09:00", vienna), is(winter, "02:00"));
        assert_eq!(at("2026-11-16T10:00", vienna), is(winter, "10:00"));
        assert_eq!(at("2026-11-17T03:00+0900", "-05:30"), is(winter, "12:30"));
        assert_eq!(at("1794830400", "Z"), is(winter, "12:00"));
        assert_eq!(at("10:00Z", "+01:00"), Some((None, "11:00".into())));
        assert_eq!(at("10:00Z", vienna), None);
        assert_eq!(at("10:00+25:00", vienna), None);
        assert!(Zone::parse("Middle/Earth").is_err());
    }

    #[test]
    fn days_and_months_in_a_known_order() {
        let day = |text, order| Moment::parse(text, Some(order)).and_then(|m| m.date());
        let (first, second) = (DateOrder::DayFirst, DateOrder::MonthFirst);
        assert_eq!(day("3/11/2026 9:30", first).as_deref(), Some("2026-11-03"));
        assert_eq!(day("3-11-2026 9:30", second).as_deref(), Some("2026-03-11"));
        assert_eq!(day("16/11/2026 9:30", second), None);
        assert_eq!(DateOrder::found_in("16/11/2026 9:30"), Some(Some(first)));
        assert_eq!(DateOrder::found_in("11-16-2026"), Some(Some(second)));
        for unclear in [
            "3/11/2026",
            "2026-11-16 9:30",
            "16.11.2026",
            "40/40/2026",
            "",
        ] {
            assert_eq!(DateOrder::found_in(unclear).flatten(), None, "{unclear}");
        }
        assert!(
            Moment::is_date("11/16/2026") && Moment::is_date("9:30 am") && !Moment::is_date("noon")
        );
    }

    #[test]
    fn hours_are_divided_into_equal_steps() {
        let clock = OpeningHours::around(8 * 3600 + 60, 19 * 3600 + 1);
        assert_eq!((clock.open, clock.close), (8 * 3600, 20 * 3600));
        assert_eq!(clock.step(8 * 3600, 24), Some(1));
        assert_eq!(clock.step(8 * 3600 + 1800, 24), Some(2));
        assert_eq!(clock.step(20 * 3600, 24), Some(24));
        assert_eq!(
            (clock.step(20 * 3600 + 1, 24), clock.step(7 * 3600, 24)),
            (None, None)
        );
        assert_eq!(clock.start_of(24, 24), "19:30");
        // A bar closes after midnight.
        let bar = OpeningHours {
            open: 18 * 3600,
            close: 2 * 3600,
        };
        assert_eq!(
            (
                bar.step(18 * 3600, 8),
                bar.step(3600, 8),
                bar.step(3 * 3600, 8)
            ),
            (Some(1), Some(8), None)
        );
        let whole_day = OpeningHours::around(0, 86_399);
        assert_eq!(
            (whole_day.step(0, 24), whole_day.step(86_399, 24)),
            (Some(1), Some(24))
        );
    }
}
