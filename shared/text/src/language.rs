//! The languages that are told apart, and the files of their words.

use crate::file::{LanguageFile, LanguageFileError, LanguageSections};

/// Declares the languages, each with its file, and embeds the files. `calendar` means that the file
/// names days, months and numbers; `own_script` means that no text in Latin script is in the
/// language.
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
                self.properties().contains(&"calendar")
            }

            /// Checks whether the language may be written in Latin script.
            pub(crate) fn is_in_latin_script(self) -> bool {
                !self.properties().contains(&"own_script")
            }

            fn properties(self) -> &'static [&'static str] {
                match self {
                    $(Self::$language => &[$(languages!(@property $property)),*],)*
                }
            }
        }
    };
    (@property calendar) => { "calendar" };
    (@property own_script) => { "own_script" };
}

languages! {
    English = "en", calendar;
    German = "de", calendar;
    Spanish = "es", calendar;
    French = "fr", calendar;
    Portuguese = "pt", calendar;
    Italian = "it", calendar;
    Russian = "ru", calendar, own_script;
    Hindi = "hi", calendar, own_script;
    Chinese = "zh", calendar, own_script;
    Japanese = "ja", calendar, own_script;
    Korean = "ko", calendar, own_script;
    Dutch = "nl";
    Swedish = "sv";
    Danish = "da";
    Norwegian = "no";
    Finnish = "fi";
    Hungarian = "hu";
    Romanian = "ro";
    Turkish = "tr";
    Arabic = "ar", own_script;
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
