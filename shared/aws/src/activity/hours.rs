//! The keys of hours. An hour is written as the digits of its year, month, day and hour, so that
//! text order is time order.

use domain::activity::{Hour, RETENTION_SECONDS};
use domain::{OrgId, Tenant, Timestamp};

use crate::keys::Key;

/// The last hour whose name has ten digits: hour 23 of the last day of the year 9999, less two
/// days.
const LAST: i64 = 70_389_479;
/// The partition of the index `due` with all open hours.
pub(super) const OPEN_SHARD: &str = "O";

/// Returns the sort key of the open marker of an hour.
pub(super) fn open(hour: Hour) -> String {
    format!("O#{}", digits(hour))
}

/// Returns the sort key of the counts of an hour.
pub(super) fn closed(hour: Hour) -> String {
    format!("H#{}", digits(hour))
}

/// Returns the partition with the hours of an organization.
pub(super) fn partition(tenant: &Tenant) -> String {
    format!("U#{}", tenant.org())
}

/// Returns the key of the open marker of an hour.
pub(super) fn open_key(tenant: &Tenant, hour: Hour) -> Key {
    (partition(tenant), open(hour))
}

/// Returns the partition with the records of an hour.
pub(super) fn records(tenant: &Tenant, hour: Hour) -> String {
    format!("A#{}#{}", tenant.org(), digits(hour))
}

/// Parses the key of an open marker into its organization and hour.
pub(super) fn parse_open(pk: &str, sk: &str) -> Option<(OrgId, Hour)> {
    Some((OrgId::parse(pk.strip_prefix("U#")?).ok()?, parse(sk)?))
}

/// Parses the sort key of an open marker, or of the counts of an hour.
pub(super) fn parse(sk: &str) -> Option<Hour> {
    let digits = sk.strip_prefix("O#").or_else(|| sk.strip_prefix("H#"))?;
    if digits.len() != 10 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ((year, month), (day, hour)) = (digits[..6].split_at(4), digits[6..].split_at(2));
    let text = format!("{year}-{month}-{day}T{hour}:00:00Z");
    Timestamp::parse("hour", &text).ok().map(Hour::of)
}

fn digits(hour: Hour) -> String {
    let time = Hour(hour.0.clamp(0, LAST)).start().to_string();
    time.bytes()
        .filter(u8::is_ascii_digit)
        .take(10)
        .map(char::from)
        .collect()
}

/// Returns the expiry, in seconds since 1970, of an item about the time `of`.
pub(super) fn expiry(of: Timestamp) -> i64 {
    of.as_millis() / 1000 + RETENTION_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_back_and_sort_by_time() {
        let hours = [0, 1, 23, 24, 100_000, 484_649, 484_650, LAST];
        let names: Vec<String> = hours.iter().map(|hour| open(Hour(*hour))).collect();
        assert_eq!(names[5], "O#2025041517");
        assert!(names.is_sorted());
        for (name, hour) in names.iter().zip(hours) {
            assert_eq!((name.len(), parse(name)), (12, Some(Hour(hour))));
        }
        assert_eq!(open(Hour(i64::MAX)), open(Hour(LAST)));
        assert_eq!(open(Hour(i64::MIN)), "O#1970010100");
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
        assert!(others.iter().all(|other| parse(other).is_none()));
        assert!(parse_open("U#acme", "H#2025041517").is_some());
        assert!(parse_open("U#Not An Org", "O#2025041517").is_none());
    }
}
