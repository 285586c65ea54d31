//! Dates and their formats.

/// The order of day and month in dates such as 16/11/2026 or 11-16-2026.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// Day, month, year.
    DayFirst,
    /// Month, day, year.
    MonthFirst,
}

impl DateOrder {
    /// `None` if the date in a cell does not need an order; else the order, if one of the numbers is above 12.
    pub fn found_in(cell: &str) -> Option<Option<Self>> {
        let date = cell.split(['T', ' ']).next()?;
        let parts: Vec<&str> = date.split(['/', '-']).collect();
        let numbers: (u32, u32) = match parts[..] {
            [a, b, year] if a.len() <= 2 && year.len() == 4 => (a.parse().ok()?, b.parse().ok()?),
            _ => return None,
        };
        Some(match numbers {
            (13.., 1..=12) => Some(Self::DayFirst),
            (1..=12, 13..) => Some(Self::MonthFirst),
            _ => None,
        })
    }
}

/// Days since 1970 of `2026-11-16`, `2026/11/16`, `16.11.2026`, or a date in a known order.
pub fn day_number(date: &str, order: Option<DateOrder>) -> Option<i64> {
    let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
    let [a, b, c] = parts[..] else {
        return None;
    };
    let (year, month, day) = match (a.len(), c.len()) {
        (4, 1..=2) => (a, b, c),
        (1..=2, 4) if date.contains('.') => (c, b, a),
        (1..=2, 4) => match order? {
            DateOrder::DayFirst => (c, b, a),
            DateOrder::MonthFirst => (c, a, b),
        },
        _ => return None,
    };
    let (year, month, day): (i64, i64, i64) =
        (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let number = days_from_civil(year, month, day);
    (civil(number) == (year, month, day)).then_some(number)
}

/// Days since 1970 of a date of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse: year, month and day.
pub fn civil(number: i64) -> (i64, i64, i64) {
    let shifted = number + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_day_numbers_are_inverse() {
        for day in (-200_000..100_000).step_by(7) {
            let (y, m, d) = civil(day);
            assert_eq!(days_from_civil(y, m, d), day);
        }
        assert_eq!(civil(0), (1970, 1, 1));
    }
}
