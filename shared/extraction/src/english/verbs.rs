//! English verbs with their irregular forms.

use super::lexicon::VerbForm;
use super::vocabulary::vocabulary;
use text::WordTable;
use text::file::{LanguageFileError, LanguageSections};

/// The sections of irregular forms. Their keys are base forms.
const IRREGULAR_FORMS: [(&str, VerbForm); 3] = [
    ("past forms", VerbForm::Past),
    ("present forms", VerbForm::Present),
    ("progressive forms", VerbForm::Ing),
];

/// Base forms and irregular forms, each with its base and form.
#[derive(Default)]
pub(crate) struct VerbForms(WordTable<(&'static str, VerbForm)>);

impl VerbForms {
    /// Loads the verbs. A word that is a base form and an irregular form counts as the latter.
    pub(super) fn load(sections: &mut LanguageSections) -> Result<Self, LanguageFileError> {
        let mut forms = WordTable::default();
        for base in sections.take("verbs")?.spaced_words()? {
            forms.insert(base, (base, VerbForm::Base));
        }

        for (section, form) in IRREGULAR_FORMS {
            for entry in sections.take(section)?.entries()? {
                for word in entry.words {
                    forms.insert(word, (entry.key, form));
                }
            }
        }

        Ok(Self(forms))
    }
}

/// Returns the base and the form of a word in the vocabulary.
pub(super) fn find_verb(lower: &str) -> Option<(&'static str, VerbForm)> {
    vocabulary().verbs.0.get(lower).copied()
}
