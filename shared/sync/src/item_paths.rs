//! The paths of items.

use domain::ports::{ItemKind, ProviderItem};

/// Checks whether an item is a folder.
pub(crate) fn is_folder(item: &ProviderItem) -> bool {
    matches!(item.kind, ItemKind::Folder)
}

/// Returns the path of an item in a folder.
pub(crate) fn join_path(folder: &str, name: &str) -> String {
    format!("{folder}/{}", path_segment(name))
}

/// Turns a name into a path segment. Names in a drive may contain slashes, which become division
/// slashes (U+2215).
pub(crate) fn path_segment(name: &str) -> String {
    name.replace('/', "\u{2215}")
}
