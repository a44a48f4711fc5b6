//! The field names of answers. Masks select among them.

/// The fields of each object: `name`, `name:Schema`, `name(fields)`, and `name*` for a map with
/// arbitrary names.
const SCHEMAS: &[(&str, &str)] = &[
    (
        "About",
        "kind user:User storageQuota(limit usage usageInDrive usageInDriveTrash) exportFormats* importFormats* \
         maxImportSizes* maxUploadSize appInstalled canCreateDrives canCreateTeamDrives folderColorPalette \
         driveThemes(id backgroundImageLink colorRgb) teamDriveThemes(id backgroundImageLink colorRgb)",
    ),
    (
        "User",
        "kind displayName emailAddress me permissionId photoLink",
    ),
    ("FileList", "kind incompleteSearch nextPageToken files:File"),
    (
        "File",
        "kind id name mimeType description starred trashed explicitlyTrashed trashedTime trashingUser:User parents \
         properties* appProperties* spaces version webContentLink webViewLink iconLink hasThumbnail thumbnailLink \
         thumbnailVersion viewedByMe viewedByMeTime createdTime modifiedTime modifiedByMe modifiedByMeTime \
         sharedWithMeTime sharingUser:User owners:User driveId teamDriveId lastModifyingUser:User shared ownedByMe \
         capabilities(canAcceptOwnership canAccessViaGenAi canAddChildren canAddFolderFromAnotherDrive \
         canAddMyDriveParent canChangeCopyRequiresWriterPermission canChangeItemDownloadRestriction \
         canChangeSecurityUpdateEnabled canChangeViewersCanCopyContent canComment canCopy canDelete \
         canDeleteChildren canDisableInheritedPermissions canDownload canEdit canEnableInheritedPermissions \
         canListChildren canModifyContent canModifyContentRestriction canModifyEditorContentRestriction \
         canModifyLabels canModifyOwnerContentRestriction canMoveChildrenOutOfDrive canMoveChildrenOutOfTeamDrive \
         canMoveChildrenWithinDrive canMoveChildrenWithinTeamDrive canMoveItemIntoTeamDrive canMoveItemOutOfDrive \
         canMoveItemOutOfTeamDrive canMoveItemWithinDrive canMoveItemWithinTeamDrive canMoveTeamDriveItem \
         canReadDrive canReadLabels canReadRevisions canReadTeamDrive canRemoveChildren \
         canRemoveContentRestriction canRemoveMyDriveParent canRename canShare canStartApproval canTrash \
         canTrashChildren canUntrash) viewersCanCopyContent copyRequiresWriterPermission writersCanShare \
         permissions:Permission permissionIds hasAugmentedPermissions folderColorRgb originalFilename \
         fullFileExtension fileExtension md5Checksum sha1Checksum sha256Checksum size quotaBytesUsed headRevisionId \
         contentHints(indexableText thumbnail(image mimeType)) imageMediaMetadata* videoMediaMetadata* \
         isAppAuthorized exportLinks* shortcutDetails(targetId targetMimeType targetResourceKey) \
         contentRestrictions* labelInfo(labels*) resourceKey \
         linkShareMetadata(securityUpdateEligible securityUpdateEnabled) inheritedPermissionsDisabled \
         downloadRestrictions(itemDownloadRestriction:Restriction effectiveDownloadRestrictionWithContext:Restriction) \
         clientEncryptionDetails(encryptionState decryptionMetadata*)",
    ),
    ("Restriction", "restrictedForReaders restrictedForWriters"),
    (
        "Permission",
        "kind id type role emailAddress domain displayName photoLink allowFileDiscovery deleted expirationTime \
         pendingOwner view inheritedPermissionsDisabled permissionDetails* teamDrivePermissionDetails*",
    ),
    ("StartPageToken", "kind startPageToken"),
    (
        "ChangeList",
        "kind newStartPageToken nextPageToken changes:Change",
    ),
    (
        "Change",
        "kind type changeType time removed fileId file:File driveId drive:Drive teamDriveId teamDrive:Drive",
    ),
    (
        "Channel",
        "kind id type address token payload params* resourceId resourceUri expiration",
    ),
    (
        "Operation",
        "name done metadata* response* error(code message details*)",
    ),
    ("DriveList", "kind nextPageToken drives:Drive"),
    (
        "Drive",
        "kind id name colorRgb themeId createdTime hidden orgUnitId backgroundImageLink backgroundImageFile* \
         restrictions* capabilities*",
    ),
];

fn fields_of(schema: &str) -> &'static str {
    SCHEMAS
        .iter()
        .find(|(name, _)| *name == schema)
        .map_or("", |(_, fields)| fields)
}

/// The fields below a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldSchema {
    Leaf,
    Any,
    Fields(&'static str),
}

impl FieldSchema {
    pub(crate) fn of_schema(schema: &str) -> Self {
        Self::Fields(fields_of(schema))
    }

    /// Returns the fields below the named field; `None` if there is no such field.
    pub(crate) fn find_field(self, name: &str) -> Option<Self> {
        match self {
            Self::Leaf => None,
            Self::Any => Some(Self::Any),
            Self::Fields(fields) => {
                split_fields(fields).find_map(|field| field_schema(field, name))
            }
        }
    }
}

fn field_schema(field: &'static str, name: &str) -> Option<FieldSchema> {
    let rest = field.strip_prefix(name)?;
    match rest.chars().next() {
        None => Some(FieldSchema::Leaf),
        Some('*') => Some(FieldSchema::Any),
        Some(':') => Some(FieldSchema::of_schema(&rest[1..])),
        Some('(') => Some(FieldSchema::Fields(rest[1..].strip_suffix(')')?)),
        Some(_) => None,
    }
}

/// Splits a list into its fields, each with the contents of its parentheses.
fn split_fields(fields: &'static str) -> impl Iterator<Item = &'static str> {
    let mut depth = 0_usize;
    let parts = fields.split(move |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && character.is_whitespace()
    });
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_is_named_exists() {
        for (name, fields) in SCHEMAS {
            for field in split_fields(fields) {
                if let Some((_, schema)) = field.split_once(':').filter(|_| !field.contains('(')) {
                    assert!(!fields_of(schema).is_empty(), "{name}: {field}");
                }
            }
        }
    }

    #[test]
    fn fields_are_found_below_each_other() {
        let list = FieldSchema::of_schema("FileList");
        let file = list.find_field("files").unwrap();
        assert_eq!(file.find_field("id"), Some(FieldSchema::Leaf));
        assert_eq!(file.find_field("idd"), None);
        assert_eq!(
            file.find_field("capabilities")
                .unwrap()
                .find_field("canDownload"),
            Some(FieldSchema::Leaf)
        );
        assert_eq!(
            file.find_field("capabilities")
                .unwrap()
                .find_field("canFly"),
            None
        );
        assert_eq!(
            file.find_field("owners")
                .unwrap()
                .find_field("emailAddress"),
            Some(FieldSchema::Leaf)
        );
        assert_eq!(
            file.find_field("properties").unwrap().find_field("any"),
            Some(FieldSchema::Any)
        );

        let restriction = file
            .find_field("downloadRestrictions")
            .unwrap()
            .find_field("itemDownloadRestriction")
            .unwrap();
        assert_eq!(
            restriction.find_field("restrictedForReaders"),
            Some(FieldSchema::Leaf)
        );
        assert_eq!(list.find_field("file"), None);
    }
}
