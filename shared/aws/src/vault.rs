//! Sealed secrets. The ciphertext is in DynamoDB and the key that opens it in KMS. Organization and
//! name are bound to the ciphertext, so an item that is copied to another place does not open
//! there.

use async_trait::async_trait;
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_smithy_types::Blob;
use bytes::Bytes;
use domain::ports::{PortResult, Vault};
use domain::{PortError, Secret, Tenant};

use crate::error::{condition_held, port_error};
use crate::records::secrets::SealedSecretRecord;
use crate::records::{Item, item_absent, read_record, record_item};
use crate::table::Table;
use crate::table_keys;

/// The vault on KMS and DynamoDB. A secret has at most 4 KB, because KMS encrypts no more in one
/// call.
pub(crate) struct KmsVault {
    table: Table,
    kms: aws_sdk_kms::Client,
    key: String,
}

impl KmsVault {
    pub(crate) fn new(table: Table, kms: aws_sdk_kms::Client, key: String) -> Self {
        Self { table, kms, key }
    }

    /// Seals a secret, and returns the item to store.
    async fn sealed_item(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<Item> {
        let request = self
            .kms
            .encrypt()
            .key_id(&self.key)
            .plaintext(Blob::new(secret.expose()));
        let request = request
            .encryption_context("org", tenant.org().as_str())
            .encryption_context("name", name);
        let response = request.send().await.map_err(port_error)?;
        let Some(sealed) = response.ciphertext_blob else {
            return Err(corrupt_secret());
        };

        let record = SealedSecretRecord {
            ciphertext: Bytes::from(sealed.into_inner()),
        };
        record_item(&table_keys::sealed_secret_key(tenant, name), &record)
    }
}

fn corrupt_secret() -> PortError {
    PortError::Corrupt("sealed secret".into())
}

#[async_trait]
impl Vault for KmsVault {
    async fn put(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<()> {
        let item = self.sealed_item(tenant, name, secret).await?;
        self.table.put(item).await
    }

    async fn create(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<bool> {
        let item = self.sealed_item(tenant, name, secret).await?;
        let put = self.table.client.put_item().table_name(&self.table.name);
        let put = put.set_item(Some(item)).condition_expression(item_absent());
        condition_held(put.send().await)
    }

    async fn get(&self, tenant: &Tenant, name: &str) -> PortResult<Option<Secret>> {
        let Some(item) = self
            .table
            .get(&table_keys::sealed_secret_key(tenant, name))
            .await?
        else {
            return Ok(None);
        };

        let record: SealedSecretRecord = read_record(item)?;
        let request = self
            .kms
            .decrypt()
            .key_id(&self.key)
            .ciphertext_blob(Blob::new(record.ciphertext));
        let request = request
            .encryption_context("org", tenant.org().as_str())
            .encryption_context("name", name);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => match error.as_service_error() {
                Some(DecryptError::InvalidCiphertextException(_)) => return Err(corrupt_secret()),
                _ => return Err(port_error(error)),
            },
        };

        let Some(plaintext) = response.plaintext else {
            return Err(corrupt_secret());
        };
        match String::from_utf8(plaintext.into_inner()) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(_) => Err(corrupt_secret()),
        }
    }

    async fn delete(&self, tenant: &Tenant, name: &str) -> PortResult<()> {
        let key = table_keys::sealed_secret_key(tenant, name);
        self.table.delete(&key).await
    }
}
