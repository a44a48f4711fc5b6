//! The files of the API, and their conversion into items.

use domain::connection::SkipReason;
use domain::ports::{ItemKind, ProviderItem};
use domain::time::Timestamp;
use serde::Deserialize;

use super::kinds::{self, FOLDER_TYPE, SHORTCUT_TYPE};
use crate::bounds;

/// The fields to request of each file.
pub(super) const FILE_FIELDS: &str = "id,name,mimeType,parents,driveId,trashed,explicitlyTrashed,version,\
    headRevisionId,md5Checksum,sha256Checksum,size,createdTime,modifiedTime,webViewLink,\
    shortcutDetails(targetId,targetMimeType,targetResourceKey),resourceKey,owners(emailAddress,displayName),\
    ownedByMe,sharedWithMeTime,capabilities(canDownload,canListChildren,canAccessViaGenAi),\
    clientEncryptionDetails(encryptionState)";

/// A file as the API represents it. All fields except the id may be missing.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiFile {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    parents: Vec<String>,
    pub(super) drive_id: Option<String>,
    #[serde(default)]
    trashed: bool,
    version: Option<String>,
    head_revision_id: Option<String>,
    md5_checksum: Option<String>,
    sha256_checksum: Option<String>,
    size: Option<String>,
    created_time: Option<String>,
    modified_time: Option<String>,
    web_view_link: Option<String>,
    pub(super) shortcut_details: Option<ShortcutDetails>,
    #[serde(default)]
    owners: Vec<FileOwner>,
    #[serde(default)]
    capabilities: FileCapabilities,
    client_encryption_details: Option<EncryptionDetails>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShortcutDetails {
    #[serde(default)]
    pub(super) target_id: String,
    pub(super) target_resource_key: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileOwner {
    email_address: Option<String>,
    display_name: Option<String>,
}

impl FileOwner {
    fn display_name(&self) -> Option<String> {
        let name = self.email_address.as_ref().or(self.display_name.as_ref())?;
        Some(bounds::limit_owner(name.clone()))
    }
}

/// The capabilities of a file. A missing capability counts as granted, because these are stated
/// only for files.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileCapabilities {
    can_download: Option<bool>,
    can_access_via_gen_ai: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EncryptionDetails {
    encryption_state: Option<String>,
}

impl ApiFile {
    /// Checks whether the file is the top folder of a shared drive, which does not have the name of
    /// the drive.
    pub(super) fn is_top_of_drive(&self) -> bool {
        self.drive_id.as_ref() == Some(&self.id)
    }

    pub(super) fn into_item(mut self) -> ProviderItem {
        // The kind and the content version depend on the values that are kept.
        self.name = bounds::limit_name(self.name);
        self.mime_type = bounds::limit_media_type(self.mime_type);
        let modified_at =
            parse_time(&self.modified_time).or_else(|| parse_time(&self.created_time));
        let owner = self.owners.first();

        ProviderItem {
            kind: self.item_kind(),
            content_version: self.content_version(),
            size: self.content_size(),
            owner: owner.and_then(FileOwner::display_name),
            parent: self.parents.into_iter().next(),
            drive: self.drive_id,
            version: self.version.or(self.modified_time).unwrap_or_default(),
            modified_at: modified_at.unwrap_or(Timestamp::from_millis(0)),
            url: self.web_view_link.and_then(bounds::limit_address),
            is_trashed: self.trashed,
            media_type: self.mime_type,
            name: self.name,
            id: self.id,
        }
    }

    fn item_kind(&self) -> ItemKind {
        let unreadable = ItemKind::Unreadable;
        match (self.mime_type.as_str(), &self.shortcut_details) {
            (FOLDER_TYPE, _) => ItemKind::Folder,
            (SHORTCUT_TYPE, Some(shortcut)) if !shortcut.target_id.is_empty() => {
                ItemKind::Shortcut {
                    target: shortcut.target_id.clone(),
                }
            }
            (SHORTCUT_TYPE, _) => unreadable(SkipReason::Shortcut),
            _ if self.is_encrypted() => unreadable(SkipReason::Encrypted),
            _ if self.capabilities.can_download == Some(false) => {
                unreadable(SkipReason::NotDownloadable)
            }
            _ if self.capabilities.can_access_via_gen_ai == Some(false) => {
                unreadable(SkipReason::GenaiRestricted)
            }
            (mime, _) if kinds::native_type(mime).is_some() => ItemKind::File {
                document: kinds::native_type(mime),
            },
            (mime, _) if kinds::extension_of(mime, &self.name).is_some() => {
                ItemKind::File { document: None }
            }
            _ => unreadable(SkipReason::UnsupportedType),
        }
    }

    fn is_encrypted(&self) -> bool {
        if let Some(details) = &self.client_encryption_details
            && let Some(state) = &details.encryption_state
        {
            return state.eq_ignore_ascii_case("encrypted");
        }
        false
    }

    /// Returns the size of the content, if it is known. The provider states a size of files that
    /// exist only there as well, but it says nothing about the size of an export.
    fn content_size(&self) -> Option<u64> {
        if kinds::native_type(&self.mime_type).is_some() {
            return None;
        }
        self.size.as_deref()?.parse().ok()
    }

    /// Returns the content version. Digests show whether contents are equal. A file without digests
    /// counts as unchanged until it is edited.
    fn content_version(&self) -> String {
        let size = self.size.as_deref().unwrap_or_default();
        let modified_time = self.modified_time.as_deref().unwrap_or_default();

        match (
            &self.sha256_checksum,
            &self.md5_checksum,
            &self.head_revision_id,
        ) {
            _ if kinds::native_type(&self.mime_type).is_some() => {
                format!("at:{modified_time}:{}", self.mime_type)
            }
            (Some(digest), _, _) => format!("{SHA256_PREFIX}{digest}:{size}"),
            (_, Some(digest), _) => format!("md5:{digest}:{size}"),
            (_, _, Some(revision)) => format!("rev:{revision}:{size}"),
            _ => format!("at:{modified_time}:{}", self.mime_type),
        }
    }
}

fn parse_time(text: &Option<String>) -> Option<Timestamp> {
    Timestamp::parse("time", text.as_deref()?).ok()
}

/// The prefix of content versions with a SHA-256 digest.
const SHA256_PREFIX: &str = "sha256:";

/// Returns the SHA-256 digest in a content version, in lower case.
pub(super) fn sha256_of(content_version: &str) -> Option<String> {
    let digest = content_version
        .strip_prefix(SHA256_PREFIX)?
        .split(':')
        .next()?;
    (digest.len() == 64).then(|| digest.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::document::DocumentType;
    use serde_json::{Value, json};

    fn item(mut file: Value) -> ProviderItem {
        file["id"] = json!("f1");
        serde_json::from_value::<ApiFile>(file).unwrap().into_item()
    }

    #[test]
    fn each_kind_of_file_is_told_apart() {
        let native = |name: &str| format!("application/vnd.google-apps.{name}");
        let file = |document| ItemKind::File { document };
        let cases = [
            (json!({"mimeType": native("folder")}), ItemKind::Folder),
            (
                json!({"mimeType": native("document")}),
                file(Some(DocumentType::CloudDoc)),
            ),
            (
                json!({"mimeType": native("spreadsheet")}),
                file(Some(DocumentType::CloudSheet)),
            ),
            (
                json!({"mimeType": native("presentation")}),
                file(Some(DocumentType::CloudSlide)),
            ),
            (
                json!({"mimeType": native("drawing")}),
                ItemKind::Unreadable(SkipReason::UnsupportedType),
            ),
            (json!({"mimeType": "application/pdf"}), file(None)),
            (
                json!({"mimeType": "image/png"}),
                ItemKind::Unreadable(SkipReason::UnsupportedType),
            ),
            (
                json!({"mimeType": native("shortcut"), "shortcutDetails": {"targetId": "t9", "targetMimeType": "x"}}),
                ItemKind::Shortcut {
                    target: "t9".into(),
                },
            ),
            (
                json!({"mimeType": native("shortcut")}),
                ItemKind::Unreadable(SkipReason::Shortcut),
            ),
            (
                json!({"mimeType": "application/pdf", "capabilities": {"canDownload": false}}),
                ItemKind::Unreadable(SkipReason::NotDownloadable),
            ),
            (
                json!({"mimeType": native("document"), "capabilities": {"canDownload": true, "canAccessViaGenAi": false}}),
                ItemKind::Unreadable(SkipReason::GenaiRestricted),
            ),
            (
                json!({"mimeType": "application/pdf", "clientEncryptionDetails": {"encryptionState": "encrypted"}}),
                ItemKind::Unreadable(SkipReason::Encrypted),
            ),
            (
                json!({"mimeType": "application/pdf", "clientEncryptionDetails": {"encryptionState": "unencrypted"}}),
                file(None),
            ),
        ];

        for (input, expected) in cases {
            assert_eq!(item(input.clone()).kind, expected, "{input}");
        }
    }

    #[test]
    fn the_mark_follows_the_content_and_the_version_everything() {
        let blob = json!({"mimeType": "application/pdf", "sha256Checksum": "ab", "md5Checksum": "cd", "size": "7",
            "version": "12", "modifiedTime": "2026-03-01T10:00:00.000Z", "headRevisionId": "r"});
        let mut renamed = blob.clone();
        renamed["version"] = json!("13");
        renamed["modifiedTime"] = json!("2026-04-01T10:00:00.000Z");
        renamed["name"] = json!("other");
        let (blob, renamed) = (item(blob), item(renamed));
        assert_eq!(
            (blob.content_version.as_str(), blob.size),
            ("sha256:ab:7", Some(7))
        );
        assert_eq!(blob.content_version, renamed.content_version);
        assert_ne!(blob.version, renamed.version);

        let doc = |time: &str, version: &str| {
            let mime = "application/vnd.google-apps.document";
            item(json!({"mimeType": mime, "modifiedTime": time, "version": version}))
                .content_version
        };
        assert_eq!(
            doc("2026-03-01T10:00:00.000Z", "1"),
            doc("2026-03-01T10:00:00.000Z", "2")
        );
        assert_ne!(
            doc("2026-03-01T10:00:00.000Z", "1"),
            doc("2026-03-01T10:00:00.001Z", "1")
        );
    }

    #[test]
    fn the_size_of_an_export_is_not_known() {
        for name in ["document", "spreadsheet", "presentation"] {
            let native = format!("application/vnd.google-apps.{name}");
            let sheet = item(json!({"mimeType": native, "size": "1024"}));
            assert_eq!(sheet.size, None, "{name}");
        }

        let stored = item(json!({"mimeType": "application/pdf", "size": "1024"}));
        assert_eq!(stored.size, Some(1024));
    }

    #[test]
    fn what_is_missing_leaves_an_item_all_the_same() {
        let bare = item(json!({}));
        assert_eq!(
            (bare.modified_at, bare.parent, bare.size),
            (Timestamp::from_millis(0), None, None)
        );

        let folder = item(
            json!({"createdTime": "2026-01-02T00:00:00Z", "parents": ["p"], "driveId": "d",
            "owners": [{"displayName": "Ida"}], "trashed": true, "webViewLink": "https://x.example"}),
        );
        assert_eq!(folder.modified_at.to_string(), "2026-01-02T00:00:00.000Z");
        assert_eq!(
            (folder.parent.as_deref(), folder.drive.as_deref()),
            (Some("p"), Some("d"))
        );
        assert_eq!(
            (folder.owner.as_deref(), folder.is_trashed),
            (Some("Ida"), true)
        );
    }

    #[test]
    fn what_people_say_at_length_is_cut() {
        let long_text = "ü".repeat(3_000);
        let owner = json!({"displayName": long_text});
        let unknown_type = json!({"name": format!("{long_text}.md"), "mimeType": "application/octet-stream", "owners": [owner],
            "webViewLink": format!("https://x.example/{long_text}")});
        let file = item(unknown_type);
        assert_eq!(
            (file.name.chars().count(), file.name.ends_with("ü.md")),
            (500, true)
        );
        assert_eq!(
            (file.kind, file.url),
            (ItemKind::File { document: None }, None)
        );
        assert_eq!(file.owner.map(|owner| owner.chars().count()), Some(320));

        let odd_item = item(json!({"mimeType": format!("image/{long_text}")}));
        assert_eq!(odd_item.media_type.chars().count(), 255);
        assert!(odd_item.content_version.chars().count() < 300);
    }

    #[test]
    fn a_digest_is_read_back_from_the_mark() {
        let digest = "A".repeat(64);
        assert_eq!(
            sha256_of(&format!("sha256:{digest}:9")),
            Some("a".repeat(64))
        );
        assert_eq!(sha256_of("sha256:ab:9"), None);
        assert_eq!(sha256_of("md5:ab:9"), None);
    }
}
