//! The keys of hours. An hour is written as the digits of its year, month, day and hour, so that
//! text order is time order.

use domain::activity::{Hour, RETENTION_SECONDS, TimeSpan};
use domain::{OrgId, Tenant, Timestamp};

use crate::table_keys::Key;

/// The last hour whose name has ten digits: hour 23 of the last day of the year 9999, less two
/// days.
const LAST_HOUR: i64 = 70_389_479;
/// The partition of the index `due` with all open hours. They are due from their end on, and busy ones from
/// their beginning.
pub(crate) const OPEN_SHARD: &str = "O";

/// Returns the sort key of the open marker of an hour.
pub(crate) fn open_sort(hour: Hour) -> String {
    format!("O#{}", format_hour(hour))
}

/// Returns the sort key of the counts of an hour.
pub(crate) fn counts_sort(hour: Hour) -> String {
    format!("H#{}", format_hour(hour))
}

/// Returns the key of the counts of an hour.
pub(crate) fn counts_key(tenant: &Tenant, hour: Hour) -> Key {
    (hours_partition(tenant), counts_sort(hour))
}

/// Returns the key of the slices of an hour.
pub(crate) fn slices_key(tenant: &Tenant, hour: Hour) -> Key {
    (hours_partition(tenant), format!("M#{}", format_hour(hour)))
}

/// Returns the partition with the hours of an organization.
pub(crate) fn hours_partition(tenant: &Tenant) -> String {
    format!("U#{}", tenant.org())
}

/// Returns the key of the open marker of an hour.
pub(crate) fn open_key(tenant: &Tenant, hour: Hour) -> Key {
    (hours_partition(tenant), open_sort(hour))
}

/// Returns the sort keys between which the records of a time span are: the times of the records, with their
/// ids behind.
pub(crate) fn record_range(span: TimeSpan) -> (String, String) {
    (
        record_sort_prefix(span.start_time()),
        record_sort_prefix(span.end_time()),
    )
}

/// Returns the beginning of the sort key of a record.
pub(crate) fn record_sort_prefix(at: Timestamp) -> String {
    format!("{:013}", at.as_millis().max(0))
}

/// Returns the partition with the records of an hour.
pub(crate) fn records_partition(tenant: &Tenant, hour: Hour) -> String {
    format!("A#{}#{}", tenant.org(), format_hour(hour))
}

/// Parses the key of an open marker into its organization and hour.
pub(crate) fn parse_open_key(pk: &str, sk: &str) -> Option<(OrgId, Hour)> {
    Some((
        OrgId::parse(pk.strip_prefix("U#")?).ok()?,
        parse_hour_sort(sk)?,
    ))
}

/// Parses the sort key of an open marker, or of the counts of an hour.
pub(crate) fn parse_hour_sort(sk: &str) -> Option<Hour> {
    let digits = sk.strip_prefix("O#").or_else(|| sk.strip_prefix("H#"))?;
    if digits.len() != 10 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ((year, month), (day, hour)) = (digits[..6].split_at(4), digits[6..].split_at(2));
    let text = format!("{year}-{month}-{day}T{hour}:00:00Z");
    let time = Timestamp::parse("hour", &text).ok()?;
    Some(Hour::containing(time))
}

fn format_hour(hour: Hour) -> String {
    let time = Hour(hour.0.clamp(0, LAST_HOUR)).start_time().to_string();
    time.bytes()
        .filter(u8::is_ascii_digit)
        .take(10)
        .map(char::from)
        .collect()
}

/// Returns the expiry, in seconds since 1970, of an item about the time `time`.
pub(crate) fn expiry_seconds(time: Timestamp) -> i64 {
    time.as_millis() / 1000 + RETENTION_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_back_and_sort_by_time() {
        let hours = [0, 1, 23, 24, 100_000, 484_649, 484_650, LAST_HOUR];
        let names: Vec<String> = hours.iter().map(|hour| open_sort(Hour(*hour))).collect();
        assert_eq!(names[5], "O#2025041517");
        assert!(names.is_sorted());
        for (name, hour) in names.iter().zip(hours) {
            assert_eq!((name.len(), parse_hour_sort(name)), (12, Some(Hour(hour))));
        }
        assert_eq!(open_sort(Hour(i64::MAX)), open_sort(Hour(LAST_HOUR)));
        assert_eq!(open_sort(Hour(i64::MIN)), "O#1970010100");
    }

    #[test]
    fn other_keys_are_no_hours() {
        let others = [
            "",
            "O#",
            "O#202504151",
            "O#20250415170",
            "O#2025041524",
            "O#2025134517",
            "X#2025041517",
            "O#äöüäö",
        ];
        assert!(others.iter().all(|other| parse_hour_sort(other).is_none()));
        assert!(parse_open_key("U#acme", "H#2025041517").is_some());
        assert!(parse_open_key("U#Not An Org", "O#2025041517").is_none());
    }
}
