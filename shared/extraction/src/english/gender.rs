//! The gender of persons, as far as the words for them tell it.

/// The gender that a pronoun or a word for a person has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gender {
    Female,
    Male,
}

/// Returns the gender of a word for a person.
pub(crate) fn gender_of_person(lower: &str) -> Option<Gender> {
    match lower {
        "wife" | "girlfriend" | "gf" | "fiancée" | "fiancee" | "mother" | "mum" | "mom"
        | "mummy" | "mommy" | "sister" | "daughter" | "aunt" | "auntie" | "niece"
        | "grandmother" | "grandma" | "granddaughter" | "stepmother" | "stepsister"
        | "stepdaughter" | "girl" | "woman" | "landlady" | "mrs" | "ms" | "miss" => {
            Some(Gender::Female)
        }
        "husband" | "boyfriend" | "bf" | "fiancé" | "father" | "dad" | "daddy" | "brother"
        | "son" | "uncle" | "nephew" | "grandfather" | "grandpa" | "grandson" | "stepfather"
        | "stepbrother" | "stepson" | "boy" | "man" | "mr" => Some(Gender::Male),
        _ => None,
    }
}

/// Returns the gender that the pronouns among some words tell, if they agree: `asked me to feed his cat`.
pub(crate) fn gender_in<'w>(words: impl Iterator<Item = &'w str>) -> Option<Gender> {
    let mut genders = words.filter_map(gender_of_pronoun);
    let first = genders.next()?;
    genders.all(|gender| gender == first).then_some(first)
}

/// Returns the gender of a pronoun.
pub(crate) fn gender_of_pronoun(lower: &str) -> Option<Gender> {
    let bare = lower.split(['\'', '’']).next().unwrap_or_default();
    match bare {
        "she" | "her" | "hers" => Some(Gender::Female),
        "he" | "him" | "his" => Some(Gender::Male),
        _ => None,
    }
}
