//! Damage to stored data, as a failing disk or a power cut causes it.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use domain::{BlobRef, PortError, Tenant};
use http::Request;
use serde_json::{Value, json};

use crate::app::TestApp;

/// A kind of damage to stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes are gone, but the file or item is there.
    Empty,
    /// The file or item is gone, but something still names it.
    Missing,
    /// Only the first half is left.
    Truncated,
    /// Some bytes in the middle have changed.
    Flipped,
}

impl DamageKind {
    /// All kinds of damage.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Missing, Self::Truncated, Self::Flipped];
}

/// The most bytes that are changed.
const FLIPPED_BYTES: usize = 64;

impl TestApp {
    /// Damages a stored blob in place: in the folder of the services or in one of their items.
    ///
    /// # Panics
    /// Panics if the blob does not exist.
    pub async fn damage_blob(&self, tenant: &Tenant, blob: &BlobRef, damage_kind: DamageKind) {
        match blob {
            BlobRef::Inline(path) => {
                self.damage_item(&format!("B#{}#{path}", tenant.org()), damage_kind)
                    .await
            }
            BlobRef::Object(_) => {
                let bytes = self.read_intact(tenant, blob).await;
                let file = list_files(self.environment.data_folder())
                    .into_iter()
                    .find(|file| file_contains(file, &bytes));
                damage_file(&file.expect("the file of the object"), damage_kind);
            }
        }
    }

    /// Reads the bytes of an intact blob, even while the services lose requests.
    async fn read_intact(&self, tenant: &Tenant, blob: &BlobRef) -> Bytes {
        loop {
            match self
                .system
                .ctx
                .blobs
                .get_intact(tenant, std::slice::from_ref(blob))
                .await
            {
                Ok(mut blobs) => return blobs.remove(0).expect("a blob"),
                Err(PortError::Unavailable(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn damage_item(&self, pk: &str, damage_kind: DamageKind) {
        let table = &self.system.names.records;
        let key = json!({"pk": {"S": pk}, "sk": {"S": "A"}});
        let response = self
            .call_dynamodb("GetItem", &json!({"TableName": table, "Key": key}))
            .await;
        let mut item = response["Item"].clone();
        assert!(item.is_object(), "no item {pk}");
        if damage_kind == DamageKind::Missing {
            self.call_dynamodb("DeleteItem", &json!({"TableName": table, "Key": key}))
                .await;
            return;
        }

        let name = if item["z"].is_object() { "z" } else { "b" };
        let encoded = item[name]["B"].as_str().expect("bytes").to_owned();
        // Four letters of Base64 encode three bytes.
        let half_length = encoded.len() / 8 * 4;
        let flip_letter = |character: char| if character == 'A' { 'B' } else { 'A' };
        item[name]["B"] = match damage_kind {
            DamageKind::Empty => json!(""),
            DamageKind::Truncated => json!(encoded[..half_length]),
            DamageKind::Flipped | DamageKind::Missing => {
                let middle: String = encoded[half_length..half_length + 4]
                    .chars()
                    .map(flip_letter)
                    .collect();
                json!(format!(
                    "{}{middle}{}",
                    &encoded[..half_length],
                    &encoded[half_length + 4..]
                ))
            }
        };

        self.call_dynamodb("PutItem", &json!({"TableName": table, "Item": item}))
            .await;
    }

    /// Removes attributes from all records, as programs left them that did not write these yet.
    /// `names` are separated by commas.
    ///
    /// # Panics
    /// Panics if the records cannot be read or written.
    pub async fn remove_attributes(&self, names: &str) {
        let (client, table) = (&self.system.clients.dynamodb, &self.system.names.records);
        let items = client.scan().table_name(table).into_paginator().items();
        let items: Vec<_> = items.send().collect::<Result<_, _>>().await.expect("items");
        for item in items {
            let update = client.update_item().table_name(table);
            update
                .key("pk", item["pk"].clone())
                .key("sk", item["sk"].clone())
                .update_expression(format!("REMOVE {names}"))
                .send()
                .await
                .expect("a former item");
        }
    }

    /// Calls an operation of the embedded DynamoDB.
    ///
    /// # Panics
    /// Panics if the operation is refused.
    pub async fn call_dynamodb(&self, operation: &str, body: &Value) -> Value {
        let request =
            Request::post("/").header("x-amz-target", format!("DynamoDB_20120810.{operation}"));
        let request = request
            .body(Bytes::from(body.to_string()))
            .expect("a request");
        let response = self.environment.services.handle_request(request).await;
        assert!(response.status().is_success(), "{operation}: {response:?}");
        serde_json::from_slice(response.body()).unwrap_or(Value::Null)
    }
}

/// Returns every file below a folder.
pub fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(list_files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn file_contains(file: &Path, bytes: &[u8]) -> bool {
    let is_same_size =
        fs::metadata(file).is_ok_and(|metadata| metadata.len() == bytes.len() as u64);
    is_same_size && fs::read(file).is_ok_and(|content| content == bytes)
}

fn damage_file(file: &Path, damage_kind: DamageKind) {
    let mut bytes = fs::read(file).expect("a file");
    match damage_kind {
        DamageKind::Missing => return fs::remove_file(file).expect("a file"),
        DamageKind::Empty => bytes.clear(),
        DamageKind::Truncated => bytes.truncate(bytes.len() / 2),
        DamageKind::Flipped => {
            let middle = bytes.len() / 2;
            bytes
                .iter_mut()
                .skip(middle)
                .take(FLIPPED_BYTES)
                .for_each(|byte| *byte ^= 0xff);
        }
    }

    fs::write(file, bytes).expect("a file that can be written");
}
