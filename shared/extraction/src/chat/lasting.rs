//! Statements that are lasting traits, or passing matters, by their words.

use domain::{MemoryKind, Statement};

/// Words of allergies, intolerances and diagnoses in the supported languages.
const CONDITIONS: [&str; 26] = [
    "alergia a",
    "alergias:",
    "alérgica a",
    "alérgico a",
    "allergia a",
    "allergic to",
    "allergica a",
    "allergico a",
    "allergie au",
    "allergie gegen",
    "allergie à",
    "allergien:",
    "allergies:",
    "allergique",
    "allergisch gegen",
    "allergy to",
    "diagnosed w",
    "intolerance",
    "intolerante",
    "intolerant",
    "unverträglichkeit",
    "аллергия на",
    "एलर्जी",
    "アレルギーがあ",
    "过敏",
    "알레르기가 있",
];
/// Words that deny such a condition, or ask about it.
const DENIALS: [&str; 14] = [
    " no ",
    "not ",
    "n't ",
    "no longer",
    "nicht",
    "kein",
    " pas ",
    "não ",
    "non ",
    "test",
    "if ",
    "не ",
    "不",
    "没",
];
/// Words of passing matters, although nothing says when they end.
const PASSING: [&str; 10] = [
    "User is looking ",
    "User is saving ",
    "User is searching ",
    "User is trying ",
    "User's api ",
    "User's API ",
    "User's app ",
    "User's code ",
    "says User should",
    "thinks User should",
];

/// Marks a statement about an allergy or a diagnosis as lasting, and one about the work at hand as
/// passing.
pub(crate) fn mark_lasting(statement: &mut Statement) {
    let lower = format!(" {} ", statement.text.to_lowercase());
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_negated = statement.topic.as_ref().is_some_and(|topic| topic.negated);
    if PASSING.iter().any(|words| statement.text.contains(words)) {
        statement.is_static = false;
    } else if statement.kind == MemoryKind::Fact
        && statement.event.is_none()
        && !is_negated
        && has(&CONDITIONS)
        && !has(&DENIALS)
    {
        statement.is_static = true;
    }
}

#[cfg(test)]
mod tests {
    use domain::Trust;

    use crate::golden::passage_of;
    use crate::{SourceText, extract_statements};

    #[test]
    fn conditions_last_and_the_work_at_hand_passes() {
        for (text, expected) in [
            ("Soy alérgica a la penicilina", true),
            ("allergies: penicillin, latex", true),
            ("I am looking for a new flat", false),
            ("my code throws a null pointer", false),
            ("my doctor says i should cut salt", false),
        ] {
            let statements = extract_statements(&SourceText {
                passages: vec![passage_of(text)],
                trust: Trust::User,
            });
            let found: Vec<bool> = statements.iter().map(|s| s.is_static).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }
}
