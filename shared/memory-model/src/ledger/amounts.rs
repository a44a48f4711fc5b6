//! Amounts of money in the text of a statement.

use std::ops::Range;

/// Marks of currencies, beside a number.
const CURRENCY_MARKS: &[char] = &['$', '£', '€', '¥', '₹', '₽', '₩', '元', '円', '원'];
/// Words for currencies, beside a number. Sorted.
const CURRENCY_WORDS: &[&str] = &[
    "bucks",
    "chf",
    "dollar",
    "dollars",
    "eur",
    "euro",
    "euros",
    "franken",
    "gbp",
    "grand",
    "inr",
    "jpy",
    "krw",
    "quid",
    "reais",
    "rub",
    "rupees",
    "usd",
    "yen",
    "yuan",
    "рублей",
    "रुपये",
];
/// The fewest digits of a number without a currency that is an amount.
const MIN_DIGITS: usize = 3;
/// The fewest digits in a row that are a phone number or another identifier.
const MIN_IDENTIFIER_DIGITS: usize = 7;
/// The numbers of four digits that are years.
const YEARS: Range<u64> = 1900..2101;

/// Checks whether a text in lower case names an amount of money: `61k`, `2,300`, `50 euros`. Dates,
/// years and phone numbers are none.
pub(super) fn has_amount(text: &str) -> bool {
    let mut from = 0;
    while let Some(found) = text[from..].find(|c: char| c.is_ascii_digit()) {
        let start = from + found;
        let number = number_at(&text[start..]);
        if is_amount(&text[..start], number, &text[start + number.len()..]) {
            return true;
        }
        from = start + number.len();
    }
    false
}

/// Returns the number with which a text begins, with the marks between its digits.
fn number_at(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].trim_end_matches(|c: char| !c.is_ascii_digit())
}

/// Checks whether a number between two parts of a text is an amount of money.
fn is_amount(before: &str, number: &str, after: &str) -> bool {
    if is_beside_currency(before, after) {
        return true;
    }

    let is_joined = |c: char| c.is_ascii_alphanumeric() || "-/:+_@#.,(".contains(c);
    if before.ends_with(is_joined) || is_beside_number(before, after) {
        return false;
    }
    if let Some(rest) = after.strip_prefix('k') {
        return !rest.starts_with(char::is_alphanumeric);
    }

    let is_unit = |c: char| c.is_ascii_alphanumeric() || "-/:_@%".contains(c);
    !after.starts_with(is_unit) && is_large_number(number)
}

/// Checks whether a number has enough digits for an amount, and is neither a year nor an identifier.
fn is_large_number(number: &str) -> bool {
    let digits = number.chars().filter(char::is_ascii_digit).count();
    let is_plain = digits == number.len();
    let is_year = number
        .parse::<u64>()
        .is_ok_and(|value| YEARS.contains(&value));
    let is_identifier = number.starts_with('0') || is_plain && digits >= MIN_IDENTIFIER_DIGITS;
    digits >= MIN_DIGITS && !is_year && !is_identifier
}

/// Checks whether a mark or a word of a currency stands beside a number.
fn is_beside_currency(before: &str, after: &str) -> bool {
    let (before, after) = (before.trim_end(), after.trim_start());
    let is_word = |word: &str| CURRENCY_WORDS.binary_search(&word).is_ok();
    let next_end = after.find(|c: char| !c.is_alphanumeric());
    let next = &after[..next_end.unwrap_or(after.len())];
    let previous = before.rsplit(|c: char| !c.is_alphanumeric()).next();
    before.ends_with(CURRENCY_MARKS)
        || after.starts_with(CURRENCY_MARKS)
        || is_word(next)
        || previous.is_some_and(is_word)
}

/// Checks whether the digits go on beyond a space or a bracket, as in a phone number.
fn is_beside_number(before: &str, after: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let ends_in_digit = |text: &str| text.trim_end_matches(')').ends_with(is_digit);
    before.strip_suffix(' ').is_some_and(ends_in_digit)
        || after
            .trim_start_matches(')')
            .strip_prefix(' ')
            .is_some_and(|rest| rest.starts_with(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currency_words_are_sorted() {
        assert!(CURRENCY_WORDS.is_sorted());
    }

    #[test]
    fn an_amount_has_a_currency_or_is_a_large_number() {
        for amount in [
            "user earns 61k.",
            "user earns 2,300 a month.",
            "user pays 400 rent",
            "user earns £2000",
            "user owes 50 euros",
            "user owes eur 1950.",
            "月收入8000元",
        ] {
            assert!(has_amount(amount), "{amount}");
        }
    }

    #[test]
    fn dates_years_and_phone_numbers_are_no_amounts() {
        for other in [
            "user has a dentist appointment (2025-04-18).",
            "user has lived in rotterdam since 2018.",
            "user's number is 07700 900123.",
            "user's number is 555-123-4567",
            "user's number is (555) 123 4567",
            "user's number is +4915112345678",
            "user's number is 5551234567",
            "user runs at 06:30",
            "user takes 400mg",
            "user turned 61.",
            "user has a book for 61 kids.",
        ] {
            assert!(!has_amount(other), "{other}");
        }
    }
}
