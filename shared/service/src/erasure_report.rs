//! Reports of completed deletions, signed so that others can verify them.
//!
//! A report is signed by a key of the organization. The signature is a JSON Web Signature
//! (RFC 7515) by Ed25519 (RFC 8037), and the key a JSON Web Key (RFC 7517), named by its thumbprint
//! (RFC 7638). Libraries for JSON Web Tokens verify it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::error::{Error, Result};
use domain::ids::{OrgId, TaskId};
use domain::tag::ContainerTag;
use domain::task::{PurgeReport, Task, TaskState, TaskWork};
use domain::tenant::Tenant;
use domain::time::Timestamp;
use domain::vault::Secret;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Ctx;

/// The name of the key in the vault. The role of the function that signs names it as well.
const KEY_NAME: &str = "erasure-report-key";
/// The type of the signed documents, in their header.
const DOCUMENT_TYPE: &str = "erasure-report+jws";
const VERIFICATION: &str = "Each store was listed and emptied until it returned nothing of the \
    container. After the longest time for which work from before the deletion can run, each store \
    was listed and emptied once more.";
const NOT_COVERED: &str = "Copies outside of these stores: exports, backups, logs, and on AWS the \
    point-in-time recovery of tables, which ends 35 days after the deletion, and old versions in the \
    bucket, where the stack keeps them. Blobs of up to 8 KiB that a process stored and, because it was \
    killed, did not record.";

/// A store from which a deletion removes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErasedStore {
    /// The table of records: documents with their small blobs, and the index of the container.
    Records,
    /// The bucket: files, long texts, chunks with their embeddings, statements, and index segments.
    Objects,
    /// The request log: the texts that requests sent and got.
    RequestLog,
}

/// The data that a completed deletion has removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureReport {
    /// The organization.
    pub organization: OrgId,
    /// The id of the deletion.
    pub deletion_id: TaskId,
    /// The tag of the deleted container.
    pub container_tag: ContainerTag,
    /// The time of the deletion, from which nothing was visible.
    pub deleted_at: Timestamp,
    /// The time at which nothing was left in any store.
    pub completed_at: Timestamp,
    /// The counts of the data that was removed.
    pub removed: PurgeReport,
    /// The stores that have nothing of the container any more.
    pub stores: [ErasedStore; 3],
    /// The method of the verification, for a person.
    pub verification: &'static str,
    /// The copies that the report does not cover, for a person.
    pub not_covered: &'static str,
}

impl ErasureReport {
    /// Returns the report of a deletion.
    ///
    /// # Errors
    /// [`Error::NotFound`] for another task, and [`Error::Conflict`] while data is still being
    /// removed.
    fn new(tenant: &Tenant, task: Task) -> Result<Self> {
        let TaskWork::Purge(purge) = task.work else {
            return Err(Error::NotFound("Deletion"));
        };
        if task.state != TaskState::Completed {
            return Err(Error::Conflict(
                "The deletion is not completed yet. Its report is available when `status` is \
                 `completed`, about 18 minutes after the deletion."
                    .to_owned(),
            ));
        }

        Ok(Self {
            organization: tenant.org().clone(),
            deletion_id: task.id,
            container_tag: purge.tag,
            deleted_at: purge.deleted_at,
            completed_at: task.updated_at,
            removed: purge.report,
            stores: [
                ErasedStore::Records,
                ErasedStore::Objects,
                ErasedStore::RequestLog,
            ],
            verification: VERIFICATION,
            not_covered: NOT_COVERED,
        })
    }
}

/// A report with its signature.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedErasureReport {
    /// The report.
    pub report: ErasureReport,
    /// The report as a JSON Web Signature in its compact form, by the algorithm `EdDSA`.
    pub jws: String,
    /// The key that verifies it. All reports of the organization have the same.
    pub public_key: PublicKey,
}

/// The public key of an organization, as a JSON Web Key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ErasureReportKey")]
pub struct PublicKey {
    /// Always `OKP`.
    pub kty: &'static str,
    /// Always `Ed25519`.
    pub crv: &'static str,
    /// The key in base64url.
    pub x: String,
    /// Its thumbprint (RFC 7638), which the header of each signature names.
    pub kid: String,
}

impl PublicKey {
    fn of(pair: &Ed25519KeyPair) -> Self {
        let x = URL_SAFE_NO_PAD.encode(pair.public_key());
        Self {
            kty: "OKP",
            crv: "Ed25519",
            kid: thumbprint(&x),
            x,
        }
    }
}

/// Returns the thumbprint of a public key in base64url.
fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members))
}

/// The protected header of a signature.
#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    typ: &'static str,
    kid: &'a str,
}

/// Returns the signed report of a completed deletion. A repeated call returns the same report. The
/// first one creates the organization's key; of several at once, the key that was stored first stays.
///
/// # Errors
/// [`Error::NotFound`] if the task is no deletion, [`Error::Conflict`] if it is not completed, and the
/// errors of the ports.
pub async fn sign_erasure_report(
    ctx: &Ctx,
    tenant: &Tenant,
    deletion: Task,
) -> Result<SignedErasureReport> {
    let report = ErasureReport::new(tenant, deletion)?;
    let pair = signing_key(ctx, tenant).await?;
    let public_key = PublicKey::of(&pair);

    let header = Header {
        alg: "EdDSA",
        typ: DOCUMENT_TYPE,
        kid: &public_key.kid,
    };

    Ok(SignedErasureReport {
        jws: sign(&pair, &to_json(&header), &to_json(&report)),
        report,
        public_key,
    })
}

/// Returns a JSON Web Signature in its compact form.
fn sign(pair: &Ed25519KeyPair, header: &[u8], payload: &[u8]) -> String {
    let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!("{}.{}", encode(header), encode(payload));
    let signature = pair.sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Returns the organization's key, which is created when there is none.
async fn signing_key(ctx: &Ctx, tenant: &Tenant) -> Result<Ed25519KeyPair> {
    if let Some(stored) = ctx.vault.get(tenant, KEY_NAME).await? {
        return read_key(&stored);
    }

    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
        .map_err(|_| Error::internal("no random bytes for a key"))?;
    let secret = Secret::new(STANDARD.encode(pair.as_ref()));
    ctx.vault.create(tenant, KEY_NAME, &secret).await?;

    // Another request may have stored its key first.
    match ctx.vault.get(tenant, KEY_NAME).await? {
        Some(stored) => read_key(&stored),
        None => Err(Error::internal("the key of erasure reports is gone")),
    }
}

fn read_key(stored: &Secret) -> Result<Ed25519KeyPair> {
    let unreadable = || Error::internal("the key of erasure reports cannot be read");
    let document = STANDARD.decode(stored.expose()).map_err(|_| unreadable())?;
    Ed25519KeyPair::from_pkcs8(&document).map_err(|_| unreadable())
}

fn to_json(part: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(part).expect("our own types have string keys")
}

/// Verifies a signed report, as the API returns it, and returns the id of its key. The caller must
/// check that the key belongs to the organization.
///
/// # Errors
/// [`Error::Invalid`], which says what is wrong.
pub fn verify_erasure_report(signed: &Value) -> Result<String> {
    let text = |pointer: &str| signed.pointer(pointer).and_then(Value::as_str);
    let (Some(jws), Some(x)) = (text("/jws"), text("/publicKey/x")) else {
        return Err(Error::invalid("This is not a signed erasure report."));
    };
    let parts: Vec<&str> = jws.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        return Err(Error::invalid("`jws` does not have three parts."));
    };

    let key_id = thumbprint(x);
    let header: Value = decode_json(header)?;
    if header["alg"] != "EdDSA" || header["typ"] != DOCUMENT_TYPE {
        return Err(Error::invalid("The signature is of another kind."));
    }
    if header["kid"] != key_id || text("/publicKey/kid") != Some(&key_id) {
        return Err(Error::invalid("The signature is by another key."));
    }

    let (body, _) = jws.rsplit_once('.').unwrap_or_default();
    let key = UnparsedPublicKey::new(&ED25519, decode(x)?);
    if key.verify(body.as_bytes(), &decode(signature)?).is_err() {
        return Err(Error::invalid(
            "The signature is wrong. The report or the signature was changed.",
        ));
    }
    if decode_json(payload)? != signed["report"] {
        return Err(Error::invalid("`report` is not what was signed."));
    }

    Ok(key_id)
}

fn decode(text: &str) -> Result<Vec<u8>> {
    let decoded = URL_SAFE_NO_PAD.decode(text);
    decoded.map_err(|_| Error::invalid("A part of the signature is not base64url."))
}

fn decode_json(text: &str) -> Result<Value> {
    let decoded = serde_json::from_slice(&decode(text)?);
    decoded.map_err(|_| Error::invalid("A part of the signature is not JSON."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by it")]

    use serde_json::json;

    use super::*;

    /// The key of RFC 8037, appendix A.
    fn example_key() -> Ed25519KeyPair {
        let seed = decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        Ed25519KeyPair::from_seed_unchecked(&seed).unwrap()
    }

    #[test]
    fn keys_and_signatures_are_those_of_the_standard() {
        let key = PublicKey::of(&example_key());
        assert_eq!(key.x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(key.kid, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let jws = sign(
            &example_key(),
            br#"{"alg":"EdDSA"}"#,
            b"Example of Ed25519 signing",
        );
        assert_eq!(
            jws,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-\
             09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        );
    }

    #[test]
    fn what_was_changed_is_refused() {
        let key = PublicKey::of(&example_key());
        let header = json!({"alg": "EdDSA", "typ": DOCUMENT_TYPE, "kid": key.kid});
        let report = json!({"containerTag": "user_42"});
        let jws = sign(&example_key(), &to_json(&header), &to_json(&report));
        let signed = json!({"report": report, "jws": jws, "publicKey": key});
        assert_eq!(verify_erasure_report(&signed).unwrap(), key.kid);

        let refusal = |pointer: &str, value: Value| {
            let mut changed = signed.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            verify_erasure_report(&changed).unwrap_err().to_string()
        };
        let other = json!({"containerTag": "user_43"});
        let forged = sign(&example_key(), &to_json(&header), &to_json(&other));
        let (body, _) = forged.rsplit_once('.').unwrap();
        let (_, signature) = jws.rsplit_once('.').unwrap();
        let mixed = format!("{body}.{signature}");
        assert!(refusal("/jws", mixed.into()).contains("signature is wrong"));
        assert!(refusal("/jws", "a.b".into()).contains("three parts"));
        assert!(refusal("/jws", "%.b.c".into()).contains("base64url"));
        assert!(refusal("/report", other).contains("not what was signed"));
        assert!(refusal("/publicKey/x", "AAAA".into()).contains("another key"));
        assert!(refusal("/publicKey/kid", "AAAA".into()).contains("another key"));

        let unsigned = json!({"alg": "none", "typ": DOCUMENT_TYPE, "kid": key.kid});
        let unsigned = sign(&example_key(), &to_json(&unsigned), &to_json(&report));
        assert!(refusal("/jws", unsigned.into()).contains("another kind"));
    }
}
