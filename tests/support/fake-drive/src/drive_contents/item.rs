//! The items of a drive.

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

/// A slide of a presentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slide {
    /// The heading.
    pub title: String,
    /// The lines below the heading.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The speaker notes.
    #[serde(default)]
    pub notes: String,
}

/// A table of a spreadsheet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetTable {
    /// The name on the tab.
    pub name: String,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FakeContent {
    /// A folder of other items.
    Folder,
    /// A text document, as Markdown.
    Doc(String),
    /// A spreadsheet.
    Sheet(Vec<SheetTable>),
    /// A presentation.
    Slides(Vec<Slide>),
    /// A file of bytes.
    Bytes {
        /// The media type.
        media_type: String,
        /// The bytes.
        bytes: Bytes,
    },
    /// A shortcut to the item with this id.
    Shortcut(String),
    /// An item of this media type whose editor cannot export it, such as a form.
    Other(String),
}

impl FakeContent {
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

/// The checksums of a file.
#[derive(Debug, Clone)]
pub(crate) struct Checksums {
    pub(crate) md5: String,
    pub(crate) sha256: String,
}

impl Checksums {
    pub(crate) fn of(body: &FakeContent) -> Option<Self> {
        let FakeContent::Bytes { bytes, .. } = body else {
            return None;
        };
        Some(Self {
            md5: hex::encode(Md5::digest(bytes)),
            sha256: hex::encode(Sha256::digest(bytes)),
        })
    }
}

/// The restrictions of an item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Restrictions {
    /// Forbids downloading the content.
    pub no_download: bool,
    /// Forbids giving the content to language models.
    pub no_gen_ai: bool,
    /// Marks the content as encrypted with a key that the drive does not have.
    pub encrypted: bool,
    /// Marks the item as malware or spam.
    pub abusive: bool,
}

pub(crate) struct Item {
    pub(crate) id: String,
    /// The sequence number of creation, which is the order of listings.
    pub(crate) seq: u64,
    pub(crate) name: String,
    pub(crate) body: FakeContent,
    pub(crate) checksums: Option<Checksums>,
    pub(crate) parent: Option<String>,
    /// The email address of the owner; `None` in a shared drive.
    pub(crate) owner: Option<String>,
    pub(crate) drive: Option<String>,
    pub(crate) created_at: i64,
    pub(crate) modified_at: i64,
    pub(crate) version: u64,
    pub(crate) revision: u64,
    pub(crate) is_trashed: bool,
    /// The accounts with which the item itself is shared, and the times since when.
    pub(crate) shared_since: BTreeMap<String, i64>,
    /// The key that gives everybody who knows it read access.
    pub(crate) link_key: Option<String>,
    /// The accounts from which the item and everything in it is withheld.
    pub(crate) withheld_from: BTreeSet<String>,
    pub(crate) viewed_at: BTreeMap<String, i64>,
    pub(crate) restrictions: Restrictions,
}

impl Item {
    pub(crate) fn is_folder(&self) -> bool {
        self.body == FakeContent::Folder
    }
}
