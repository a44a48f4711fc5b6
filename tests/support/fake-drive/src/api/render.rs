//! Items as the API shows them.

use serde_json::{Map, Value, json};

use super::CallContext;
use super::mask::FieldMask;
use super::matching::is_shared_with;
use crate::clock::format_timestamp;
use crate::content;
use crate::drive_contents::{Account, DriveContents, FakeContent, Item, SharedDrive, Viewer};

/// An item that is being rendered. Only the selected fields are computed.
struct ItemRenderer<'a> {
    contents: &'a DriveContents,
    viewer: &'a Viewer,
    item: &'a Item,
    mask: &'a FieldMask,
    fields: Map<String, Value>,
}

impl ItemRenderer<'_> {
    fn put(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if self.mask.submask(name).is_some() {
            self.fields.insert(name.to_owned(), value());
        }
    }
}

/// Renders the selected fields of an item. `mask` applies to a file.
pub(crate) fn render_file(cx: &CallContext<'_>, mask: &FieldMask, item: &Item) -> Value {
    let (contents, viewer) = (&cx.state.contents, &cx.viewer);
    let mut file = ItemRenderer {
        contents,
        viewer,
        item,
        mask,
        fields: Map::new(),
    };

    file.put("kind", || json!("drive#file"));
    file.put("id", || json!(item.id));
    file.put("name", || json!(item.name));
    file.put("mimeType", || json!(item.body.media_type()));
    file.put("starred", || json!(false));
    file.put("trashed", || json!(contents.is_trashed(&item.id)));
    file.put("explicitlyTrashed", || json!(item.is_trashed));
    file.put("spaces", || json!(["drive"]));
    file.put("version", || json!(item.version.to_string()));
    file.put("createdTime", || json!(format_timestamp(item.created_at)));
    file.put("modifiedTime", || json!(format_timestamp(item.modified_at)));
    file.put("webViewLink", || json!(web_link(item)));
    file.put("viewedByMe", || {
        json!(item.viewed_at.contains_key(&viewer.email))
    });

    file.put("isAppAuthorized", || json!(true));
    file.put("capabilities", || render_capabilities(item));
    let is_shared = || {
        item.drive.is_some()
            || contents
                .ancestors(&item.id)
                .any(|ancestor| !ancestor.shared_since.is_empty())
    };
    file.put("shared", || json!(is_shared()));
    file.render_location();
    file.render_owners();
    file.render_content(&cx.call.base);

    Value::Object(file.fields)
}

fn web_link(item: &Item) -> String {
    let (host, kind) = match item.body {
        FakeContent::Folder => {
            return format!("https://drive.google.com/drive/folders/{}", item.id);
        }
        FakeContent::Doc(_) => ("docs.google.com", "document"),
        FakeContent::Sheet(_) => ("docs.google.com", "spreadsheets"),
        FakeContent::Slides(_) => ("docs.google.com", "presentation"),
        _ => ("drive.google.com", "file"),
    };
    format!("https://{host}/{kind}/d/{}/view", item.id)
}

fn render_capabilities(item: &Item) -> Value {
    let can_download = !item.restrictions.no_download && !item.is_folder();
    json!({
        "canDownload": can_download,
        "canCopy": can_download,
        "canAccessViaGenAi": !item.restrictions.no_gen_ai,
        "canListChildren": item.is_folder(),
        "canEdit": false,
        "canReadRevisions": true,
        "canTrash": false,
    })
}

impl ItemRenderer<'_> {
    /// Renders the location, as far as the viewer can see it.
    fn render_location(&mut self) {
        let (contents, viewer, item) = (self.contents, self.viewer, self.item);
        if let Some(parent) = item
            .parent
            .as_ref()
            .filter(|parent| contents.can_see(viewer, parent))
        {
            self.put("parents", || json!([parent]));
        }

        if let Some(drive) = &item.drive {
            self.put("driveId", || json!(drive));
            self.put("teamDriveId", || json!(drive));
        }

        if let Some(key) = &item.link_key {
            self.put("resourceKey", || json!(key));
        }

        if let Some(at) = item.viewed_at.get(&viewer.email) {
            self.put("viewedByMeTime", || json!(format_timestamp(*at)));
        }

        if let Some(at) = item
            .shared_since
            .get(&viewer.email)
            .filter(|_| is_shared_with(viewer, item))
        {
            self.put("sharedWithMeTime", || json!(format_timestamp(*at)));
        }
    }

    /// Renders the owners. Items of a shared drive have no owner.
    fn render_owners(&mut self) {
        let (contents, viewer, item) = (self.contents, self.viewer, self.item);
        self.put("ownedByMe", || {
            json!(item.owner.as_ref() == Some(&viewer.email))
        });
        if let Some(owner) = item
            .owner
            .as_ref()
            .and_then(|owner| contents.accounts.get(owner))
        {
            self.put("lastModifyingUser", || render_user(owner, viewer));
            self.put("owners", || json!([render_user(owner, viewer)]));
        }
    }

    /// Renders the properties of the content.
    fn render_content(&mut self, base: &str) {
        let (contents, item) = (self.contents, self.item);
        if let Some(size) = item.body.size() {
            self.put("size", || json!(size.to_string()));
            self.put("quotaBytesUsed", || json!(size.to_string()));
        }

        if let Some(checksums) = &item.checksums {
            self.put("md5Checksum", || json!(checksums.md5));
            self.put("sha256Checksum", || json!(checksums.sha256));
            self.put("headRevisionId", || {
                json!(format!("0B{}r{}", item.id, item.revision))
            });
            self.put("originalFilename", || json!(item.name));
            let address = || format!("https://drive.google.com/uc?id={}&export=download", item.id);
            self.put("webContentLink", || json!(address()));
            if let Some((_, extension)) = item.name.rsplit_once('.') {
                self.put("fileExtension", || json!(extension));
                self.put("fullFileExtension", || json!(extension));
            }
        }

        if item.restrictions.encrypted {
            self.put(
                "clientEncryptionDetails",
                || json!({ "encryptionState": "encrypted" }),
            );
        }

        if let FakeContent::Shortcut(target) = &item.body {
            self.put("shortcutDetails", || render_shortcut(contents, target));
        }

        let formats = content::export_formats(&item.body);
        if !formats.is_empty() {
            self.put("exportLinks", || render_links(item, formats, base));
        }
    }
}

/// Renders a person for a viewer.
pub(crate) fn render_user(account: &Account, viewer: &Viewer) -> Value {
    json!({
        "kind": "drive#user",
        "displayName": account.name,
        "me": account.email == viewer.email,
        "permissionId": account.permission_id,
        "emailAddress": account.email,
    })
}

fn render_links(item: &Item, formats: &[&str], base: &str) -> Value {
    let address =
        |format: &str| json!(format!("{base}/export-links/{}?mimeType={format}", item.id));
    Value::Object(
        formats
            .iter()
            .map(|format| ((*format).to_owned(), address(format)))
            .collect(),
    )
}

fn render_shortcut(contents: &DriveContents, target: &str) -> Value {
    let item = contents.items.get(target);
    let mut details = json!({ "targetId": target });
    if let Some(item) = item {
        details["targetMimeType"] = json!(item.body.media_type());
    }
    if let Some(key) = item.and_then(|item| item.link_key.as_ref()) {
        details["targetResourceKey"] = json!(key);
    }
    details
}

/// Renders a shared drive.
pub(crate) fn render_drive(drive: &SharedDrive) -> Value {
    json!({
        "kind": "drive#drive",
        "id": drive.id,
        "name": drive.name,
        "hidden": drive.is_hidden,
        "createdTime": format_timestamp(drive.created_at),
        "colorRgb": "#0f9d58",
        "capabilities": { "canListChildren": true, "canDownload": true },
    })
}
