//! Sealed secrets. The ciphertext is in DynamoDB and the key that opens it in KMS. Organization and
//! name are bound to the ciphertext, so an item that is copied to another place does not open
//! there.

use async_trait::async_trait;
use aws_sdk_kms::operation::decrypt::DecryptError;
use aws_smithy_types::Blob;
use bytes::Bytes;
use domain::ports::{PortResult, Vault};
use domain::{PortError, Secret, Tenant};

use crate::error::port_error;
use crate::records::secrets::SealedSecretRecord;
use crate::records::{key_item, read_record, record_item};
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
}

fn corrupt_secret() -> PortError {
    PortError::Corrupt("sealed secret".into())
}

#[async_trait]
impl Vault for KmsVault {
    async fn put(&self, tenant: &Tenant, name: &str, secret: &Secret) -> PortResult<()> {
        let request = self
            .kms
            .encrypt()
            .key_id(&self.key)
            .plaintext(Blob::new(secret.expose()));
        let request = request
            .encryption_context("org", tenant.org().as_str())
            .encryption_context("name", name);
        let sealed = request
            .send()
            .await
            .map_err(port_error)?
            .ciphertext_blob
            .ok_or_else(corrupt_secret)?;
        let record = SealedSecretRecord {
            ciphertext: Bytes::from(sealed.into_inner()),
        };
        let item = record_item(&table_keys::sealed_secret_key(tenant, name), &record)?;
        let put = self
            .table
            .client
            .put_item()
            .table_name(&self.table.name)
            .set_item(Some(item));

        put.send().await.map(|_| ()).map_err(port_error)
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
        let response = request
            .send()
            .await
            .map_err(|error| match error.as_service_error() {
                Some(DecryptError::InvalidCiphertextException(_)) => corrupt_secret(),
                _ => port_error(error),
            })?;

        let text = response
            .plaintext
            .and_then(|bytes| String::from_utf8(bytes.into_inner()).ok());
        text.map(|text| Some(Secret::new(text)))
            .ok_or_else(corrupt_secret)
    }

    async fn delete(&self, tenant: &Tenant, name: &str) -> PortResult<()> {
        let delete = self.table.client.delete_item().table_name(&self.table.name);
        let delete = delete.set_key(Some(key_item(&table_keys::sealed_secret_key(tenant, name))));
        delete.send().await.map(|_| ()).map_err(port_error)
    }
}
