use super::*;
use crate::english::words::split_words;

/// Returns the labels of the dates in a text that was said on `day`.
fn said(day: &str, text: &str, direction: DateDirection) -> String {
    let lower = text.to_ascii_lowercase();
    let words = split_words(text, &lower);
    let at = Timestamp::parse("day", day).unwrap();
    let found = find_dates(Clause { words: &words }, at, direction);
    found
        .iter()
        .map(|found| found.days.format_label())
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn dates_are_resolved_against_their_day() {
    // All of these are said on 2025-04-15, a Tuesday.
    let cases = [
        (
            "I saw her yesterday and will see her tomorrow.",
            "2025-04-14, 2025-04-16",
        ),
        ("the day after tomorrow", "2025-04-17"),
        ("We met last Friday.", "2025-04-11"),
        ("We met last Tuesday.", "2025-04-08"),
        (
            "See you this Friday or next Friday",
            "2025-04-18, 2025-04-25",
        ),
        (
            "last week and next month",
            "2025-04-07 to 2025-04-13, 2025-05",
        ),
        ("last weekend, next year", "2025-04-12 to 2025-04-13, 2026"),
        (
            "two weeks ago, 3 days ago, in ten days",
            "2025-03-31 to 2025-04-06, 2025-04-12, 2025-04-25",
        ),
        ("a couple of months ago", "2025-02"),
        (
            "this fall; last summer; next spring",
            "2025-09-01 to 2025-11-30, 2024-06-01 to 2024-08-31, 2026-03-01 to 2026-05-31",
        ),
        (
            "by end of week, by the end of the month, by month-end",
            "2025-04-20, 2025-04-30, 2025-04-30",
        ),
        (
            "on March 15, 2024 and on 3rd of May 2023",
            "2024-03-15, 2023-05-03",
        ),
        ("in March 2020, in 2019, since 2016", "2020-03, 2019, 2016"),
        (
            "on 2024-02-29, in the summer of 2022",
            "2024-02-29, 2022-06-01 to 2022-08-31",
        ),
        ("a week today, a week tomorrow", "2025-04-22, 2025-04-23"),
        (
            "on the last Saturday of the month, the first Monday of May",
            "2025-04-26, 2025-05-05",
        ),
        ("every week on Sunday; first Saturday of the month", ""),
        ("you may march on; we have 2000 sun hats", ""),
        (
            "on Mondays, in 2000 steps, February 31, in 999999999999 days",
            "",
        ),
        ("next May, last December", "2025-05, 2024-12"),
    ];
    for (text, expected) in cases {
        assert_eq!(
            said("2025-04-15", text, DateDirection::Either),
            expected,
            "{text}"
        );
    }
}

#[test]
fn dates_without_a_year_lie_where_the_sentence_points() {
    let cases = [
        ("on Friday", DateDirection::Future, "2025-04-18"),
        ("on Friday", DateDirection::Past, "2025-04-11"),
        ("March 20", DateDirection::Past, "2025-03-20"),
        ("March 20", DateDirection::Future, "2026-03-20"),
        ("December 20", DateDirection::Past, "2024-12-20"),
        ("December 20", DateDirection::Either, "2024-12-20"),
        ("June 20", DateDirection::Either, "2025-06-20"),
        ("in May", DateDirection::Future, "2025-05"),
    ];
    for (text, direction, expected) in cases {
        assert_eq!(
            said("2025-04-15", text, direction),
            expected,
            "{text} {direction:?}"
        );
    }
}

#[test]
fn a_length_of_time_is_no_date() {
    let (past, either, future) = (
        DateDirection::Past,
        DateDirection::Either,
        DateDirection::Future,
    );
    for (text, direction, expected) in [
        ("I haven't smoked in three years", future, ""),
        ("I've lost 5 kg in two months", either, ""),
        ("I lost 5 kg in two months", past, ""),
        ("In two months I lost 5 kg", past, ""),
        ("I managed to finish the course in a week", past, ""),
        ("I didn't smoke in a year", past, ""),
        ("I've got an exam in two days", either, "2025-04-17"),
        ("I've booked a cabin in two days", either, "2025-04-17"),
        (
            "she told me that she will leave in two days",
            past,
            "2025-04-17",
        ),
        ("I decided to leave in two days", past, "2025-04-17"),
        ("I quit, and I start in two days", past, "2025-04-17"),
        ("what do I have in two days", past, "2025-04-17"),
        ("the results are expected in two days", either, "2025-04-17"),
    ] {
        assert_eq!(said("2025-04-15", text, direction), expected, "{text}");
    }
}

#[test]
fn this_lies_where_the_sentence_points() {
    let (past, future) = (DateDirection::Past, DateDirection::Future);
    for (day, text, direction, expected) in [
        ("2025-12-10", "I start this January", future, "2026-01"),
        ("2025-12-10", "I started this January", past, "2025-01"),
        ("2025-02-10", "I moved this November", past, "2024-11"),
        ("2025-04-15", "we met this April", past, "2025-04"),
        (
            "2025-03-10",
            "we skied this winter",
            past,
            "2024-12-01 to 2025-02-28",
        ),
        (
            "2025-01-20",
            "we ski this winter",
            future,
            "2024-12-01 to 2025-02-28",
        ),
        (
            "2025-01-20",
            "last winter",
            past,
            "2023-12-01 to 2024-02-29",
        ),
        (
            "2025-03-20",
            "last winter",
            past,
            "2024-12-01 to 2025-02-28",
        ),
        (
            "2025-12-10",
            "I go this summer",
            future,
            "2026-06-01 to 2026-08-31",
        ),
        // The 19th is a Saturday, the 21st a Monday.
        ("2025-04-19", "we met this Friday", past, "2025-04-18"),
        ("2025-04-17", "we met this Friday", past, "2025-04-18"),
        (
            "2025-04-19",
            "I heard that the exam is this Friday",
            past,
            "2025-04-25",
        ),
        (
            "2025-04-19",
            "I booked a table for this Friday",
            past,
            "2025-04-25",
        ),
        ("2025-04-19", "we meet this Friday", future, "2025-04-25"),
        (
            "2025-04-19",
            "we met this coming Friday",
            past,
            "2025-04-25",
        ),
        (
            "2025-04-21",
            "we hiked this weekend",
            past,
            "2025-04-19 to 2025-04-20",
        ),
        (
            "2025-04-21",
            "we hike this weekend",
            future,
            "2025-04-26 to 2025-04-27",
        ),
    ] {
        assert_eq!(said(day, text, direction), expected, "{day} {text}");
    }
}
