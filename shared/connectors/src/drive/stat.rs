//! Single items.

use domain::ports::{Access, ConnectorError, ConnectorResult, Item};

use super::Drive;
use super::api::Call;
use super::failure::Failure;
use super::feeds::SharedDrive;
use super::file::{FIELDS, File};
use crate::bounds;

impl Drive {
    /// The item as it is now; `None` when the account does not see it.
    pub(super) async fn look(&self, access: &Access, id: &str) -> ConnectorResult<Option<Item>> {
        let mut found = self.file(access, id, FIELDS, None).await;
        // What was shared by its link alone is shown to whoever says the key in it, which shortcuts keep.
        if matches!(found, Err(Failure::Gone))
            && let Some(key) = self.key_of(access, id).await?
        {
            found = self.file(access, id, FIELDS, Some(key)).await;
        }

        let file: File = match found {
            Ok(file) => file,
            // Whether there is nothing or nothing for this account or app is the same.
            Err(Failure::Gone | Failure::Other(ConnectorError::Item(_))) => return Ok(None),
            Err(failure) => return Err(failure.into()),
        };

        if !file.is_top_of_drive() {
            return Ok(Some(file.into_item()));
        }

        let call = Call::get(&["drives", id]).with("fields", "id,name");
        match self.json::<SharedDrive>(access, call).await {
            Ok(drive) => Ok(Some(Item {
                name: bounds::name(drive.name),
                ..file.into_item()
            })),
            Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// What the API shows of a file.
    pub(super) async fn file<T: serde::de::DeserializeOwned>(
        &self,
        access: &Access,
        id: &str,
        fields: &str,
        key: Option<String>,
    ) -> Result<T, Failure> {
        self.json(
            access,
            Call::get(&["files", id])
                .all_drives()
                .with("fields", fields)
                .key(key),
        )
        .await
    }
}
