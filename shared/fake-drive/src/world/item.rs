//! What lies in a drive.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use md5::Md5;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) const FOLDER: &str = "application/vnd.google-apps.folder";
pub(crate) const DOC: &str = "application/vnd.google-apps.document";
pub(crate) const SHEET: &str = "application/vnd.google-apps.spreadsheet";
pub(crate) const SLIDES: &str = "application/vnd.google-apps.presentation";
pub(crate) const SHORTCUT: &str = "application/vnd.google-apps.shortcut";

/// One slide of a presentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slide {
    /// Its heading.
    pub title: String,
    /// What stands below it.
    #[serde(default)]
    pub lines: Vec<String>,
    /// What only the speaker sees.
    #[serde(default)]
    pub notes: String,
}

/// One table of a spreadsheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The name on its tab.
    pub name: String,
    /// Its cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// What an item is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Other items lie in it.
    Folder,
    /// A text document, as markdown.
    Doc(String),
    /// A spreadsheet.
    Sheet(Vec<Table>),
    /// A presentation.
    Slides(Vec<Slide>),
    /// Bytes of a media type.
    Bytes {
        /// The media type.
        media_type: String,
        /// The bytes.
        bytes: Bytes,
    },
    /// Leads to the item with this id.
    Shortcut(String),
    /// Made with an editor whose content cannot be exported, such as a form; the media type.
    Other(String),
}

impl Body {
    pub(crate) fn media_type(&self) -> &str {
        match self {
            Self::Folder => FOLDER,
            Self::Doc(_) => DOC,
            Self::Sheet(_) => SHEET,
            Self::Slides(_) => SLIDES,
            Self::Shortcut(_) => SHORTCUT,
            Self::Bytes { media_type, .. } | Self::Other(media_type) => media_type,
        }
    }

    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Folder | Self::Shortcut(_) => None,
            Self::Doc(markdown) => Some(markdown.len()),
            Self::Sheet(tables) => Some(
                tables
                    .iter()
                    .flat_map(|table| table.rows.iter().flatten())
                    .map(String::len)
                    .sum(),
            ),
            Self::Slides(slides) => Some(
                slides
                    .iter()
                    .map(|slide| slide.title.len() + slide.notes.len())
                    .sum(),
            ),
            Self::Bytes { bytes, .. } => Some(bytes.len()),
            Self::Other(_) => Some(1),
        }
    }
}

/// What the drive says about bytes.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    pub(crate) md5: String,
    pub(crate) sha256: String,
}

impl Sums {
    pub(crate) fn of(body: &Body) -> Option<Self> {
        let Body::Bytes { bytes, .. } = body else {
            return None;
        };
        Some(Self {
            md5: hex(&Md5::digest(bytes)),
            sha256: hex(&Sha256::digest(bytes)),
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What may not be done with an item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Restrictions {
    /// Its content may not be had.
    pub no_download: bool,
    /// Its content may not go to language models.
    pub no_gen_ai: bool,
    /// Its content is encrypted with a key that the drive does not have.
    pub encrypted: bool,
    /// It was found to be malware or spam.
    pub abusive: bool,
}

pub(crate) struct Item {
    pub(crate) id: String,
    /// Grows with every item that is made: the order of listings.
    pub(crate) seq: u64,
    pub(crate) name: String,
    pub(crate) body: Body,
    pub(crate) sums: Option<Sums>,
    pub(crate) parent: Option<String>,
    /// The owner's email address; none in a shared drive.
    pub(crate) owner: Option<String>,
    pub(crate) drive: Option<String>,
    pub(crate) created: i64,
    pub(crate) modified: i64,
    pub(crate) version: u64,
    pub(crate) revision: u64,
    pub(crate) binned: bool,
    /// With whom it is shared itself, since when.
    pub(crate) shared: BTreeMap<String, i64>,
    /// Whoever knows this key may read it.
    pub(crate) link_key: Option<String>,
    /// From whom it is withheld, with all that lies in it.
    pub(crate) withheld: BTreeSet<String>,
    pub(crate) viewed: BTreeMap<String, i64>,
    pub(crate) restrictions: Restrictions,
}

impl Item {
    pub(crate) fn is_folder(&self) -> bool {
        self.body == Body::Folder
    }
}
