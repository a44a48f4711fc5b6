//! The languages that are told apart, and the files of their words.

use crate::file::{LanguageFile, LanguageFileError, LanguageSections};

/// A property of a language that its declaration names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Property {
    /// The file of the language has a calendar: the names of days, months and numbers.
    Calendar,
    /// The language is never written in Latin script.
    NonLatin,
}

/// Declares the languages, each with its file and its [`Property`] values, and embeds the files.
macro_rules! languages {
    ($($(#[$note:meta])* $language:ident = $file:literal $(, $property:ident)*;)*) => {
        /// A language, as [`detect_language`](crate::detect_language) tells it from the others.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names are the documentation")]
        pub enum Language {
            $($(#[$note])* $language,)*
        }

        impl Language {
            /// All languages. If the words of a text indicate two languages equally, it has the
            /// first of them.
            pub const ALL: &[Self] = &[$(Self::$language,)*];

            /// Returns the file with the words of the language.
            pub fn words_file(self) -> LanguageFile {
                match self {
                    $(Self::$language => LanguageFile {
                        path: concat!("shared/text/languages/", $file, ".txt"),
                        text: include_str!(concat!("../languages/", $file, ".txt")),
                    },)*
                }
            }

            /// Checks whether the file of the language has a calendar: the names of days, months
            /// and numbers.
            pub fn has_calendar(self) -> bool {
                self.properties().contains(&Property::Calendar)
            }

            /// Checks whether the language may be written in Latin script. `Other` may be, because
            /// some of its languages are.
            pub(crate) fn is_in_latin_script(self) -> bool {
                !self.properties().contains(&Property::NonLatin)
            }

            fn properties(self) -> &'static [Property] {
                match self {
                    $(Self::$language => &[$(Property::$property),*],)*
                }
            }
        }
    };
}

languages! {
    English = "en", Calendar;
    German = "de", Calendar;
    Spanish = "es", Calendar;
    French = "fr", Calendar;
    Portuguese = "pt", Calendar;
    Italian = "it", Calendar;
    Russian = "ru", Calendar, NonLatin;
    Hindi = "hi", Calendar, NonLatin;
    Chinese = "zh", Calendar, NonLatin;
    Japanese = "ja", Calendar, NonLatin;
    Korean = "ko", Calendar, NonLatin;
    Dutch = "nl";
    Swedish = "sv";
    Danish = "da";
    Norwegian = "no";
    Finnish = "fi";
    Hungarian = "hu";
    Romanian = "ro";
    Turkish = "tr";
    Arabic = "ar", NonLatin;
    /// Any other language.
    Other = "other";
}

impl Language {
    /// Returns words without a meaning of their own, which are left out of queries.
    ///
    /// # Errors
    /// A fault of the file. A test reads every file.
    pub fn stop_words(self) -> Result<Vec<&'static str>, LanguageFileError> {
        let mut sections = LanguageSections::parse_first(self.words_file(), DETECTION_SECTIONS)?;
        sections.take("stop words")?.spaced_words()
    }
}

/// The number of sections with which every file begins: `common words`, `marker letters` and `stop
/// words`. Detection reads no more.
pub(crate) const DETECTION_SECTIONS: usize = 3;
