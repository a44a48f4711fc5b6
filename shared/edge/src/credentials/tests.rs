mod samples;

use samples::{MIXED, credentials, random};

use super::*;

#[test]
fn credentials_of_many_kinds_are_recognized_wherever_they_stand() {
    let all = credentials();
    assert!(all.len() >= 60, "{}", all.len());

    for (text, secret) in &all {
        let long = "Some words before it that mean nothing. ".repeat(5);
        for (before, after) in [
            ("", ""),
            ("see ", ""),
            ("(", ")"),
            ("/", ""),
            ("metadata.", ":"),
            (long.as_str(), " and more of it"),
        ] {
            let full_text = format!("{before}{text}{after}");
            let redacted = redact_credentials(&full_text, 256);
            assert!(
                !redacted.contains(secret.as_str()),
                "{full_text} leaves {redacted}"
            );
            let start: String = secret.chars().take(12).collect();
            assert!(
                !redacted.contains(&start),
                "{full_text} leaves the beginning of it: {redacted}"
            );
        }
    }
}

#[test]
fn addresses_of_people_go_and_other_words_stay() {
    assert_eq!(
        redact_credentials(
            "write to ada@example.com, or <ada.l+x@mail.example.org>.",
            256
        ),
        "write to [email], or <[email]>."
    );
    for text in [
        "The meeting about tokens is at 10:30 in room B-12.",
        "Vt3mE9xq6mVb2P8hZc1KRe",
        "Vt3mE9xq6mVb2P8hZc1KRe-17",
        "acxV5LHMEsG2hMSNb4umbn",
        "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
        "2025-04-15T09:30:00.000Z",
        "project:user_42:notes-2025-first-quarter-and-more",
        "https://example.com/a/long/path/of/an/article-about-keys-and-locks?page=2",
        "the key to the token ring is lost; basic things first",
        "/notes/Users/2024/Reports/Some-Long-File-Name-of-a-report.md",
        "handle @ada and 5 @ 3",
        "日本語のテキストもそのまま残る。",
        "",
    ] {
        assert_eq!(redact_credentials(text, 256), text);
    }
}

#[test]
fn nothing_breaks_where_text_is_cut() {
    for filler in ["é", "🦀", "a", "\u{301}"] {
        for len in [0, 1, 255, 256, 257, 2047, 2048, 2049, 5000] {
            let redacted = redact_credentials(&filler.repeat(len), 256);
            assert!(redacted.chars().count() <= 257, "{filler} {len}");
            assert_eq!(
                redacted.ends_with('…'),
                len > 256 && !redacted.contains(SECRET),
                "{filler} {len}"
            );
        }
    }

    // A key that begins before the cut is removed as a whole.
    let text = format!("{} sk-{}", "words ".repeat(41), random(MIXED, 48));
    assert!(
        redact_credentials(&text, 256).contains("[sec"),
        "{}",
        redact_credentials(&text, 256)
    );
    assert!(!redact_credentials(&text, 256).contains("sk-"));
}

#[test]
fn names_tell_credentials() {
    for name in [
        "secret",
        "clientSecret",
        "client_secret",
        "token",
        "accessToken",
        "refresh-token",
        "X-Api-Key",
        "apiKey",
        "password",
        "db.password",
        "Authorization",
        "credentials",
        "Set-Cookie",
        "privateKey",
        "sig",
        "x-amz-signature",
        "cloudDriveClientSecret",
        "github_token",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "tokens",
        "tokenCount",
        "key",
        "keyId",
        "id",
        "containerTag",
        "monkey",
        "pass",
        "author",
        "signal",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}
