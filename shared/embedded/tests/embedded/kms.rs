//! Tests of KMS: what one call seals another opens, only in the same context and with the key of
//! the folder.

use aws_sdk_kms::Client;
use aws_sdk_kms::error::ProvideErrorMetadata;
use aws_sdk_kms::types::EncryptionAlgorithmSpec;
use aws_smithy_types::Blob;
use embedded::{EmbeddedServices, InProcessTransport};

use crate::support::{Fixture, sdk_config};

fn client(services: &EmbeddedServices) -> Client {
    Client::new(&sdk_config(InProcessTransport::new(services.clone())))
}

pub(crate) async fn encrypt_text(client: &Client, text: &str, context: &[(&str, &str)]) -> Blob {
    let request = client.encrypt().key_id("local").plaintext(Blob::new(text));
    let request = context.iter().fold(request, |request, (k, v)| {
        request.encryption_context(*k, *v)
    });
    let sealed = request.send().await.unwrap();
    assert_eq!(
        sealed.key_id(),
        Some("arn:aws:kms:us-east-1:000000000000:key/local")
    );
    sealed.ciphertext_blob.unwrap()
}

/// Returns the text, or the code of the error.
pub(crate) async fn decrypt_text(
    client: &Client,
    sealed: &Blob,
    context: &[(&str, &str)],
) -> Result<String, String> {
    let request = client.decrypt().ciphertext_blob(sealed.clone());
    let request = context.iter().fold(request, |request, (k, v)| {
        request.encryption_context(*k, *v)
    });
    match request.send().await {
        Ok(opened) => Ok(String::from_utf8(opened.plaintext.unwrap().into_inner()).unwrap()),
        Err(error) => Err(error.code().unwrap().to_owned()),
    }
}

fn invalid_ciphertext() -> Result<String, String> {
    Err("InvalidCiphertextException".to_owned())
}

#[tokio::test]
async fn what_was_sealed_opens_in_its_context_alone() {
    let fixture = Fixture::new();
    let client = client(&fixture.services);
    let context = [("org", "acme"), ("name", "drive")];
    let sealed = encrypt_text(&client, "a – sëcret", &context).await;
    assert_eq!(
        decrypt_text(&client, &sealed, &context).await,
        Ok("a – sëcret".to_owned())
    );
    assert_eq!(
        decrypt_text(&client, &sealed, &[context[1], context[0]]).await,
        Ok("a – sëcret".to_owned())
    );
    let others: [&[(&str, &str)]; 5] = [
        &[],
        &context[..1],
        &[("org", "acme"), ("name", "Drive")],
        &[("org", "acmename"), ("", "drive")],
        &[("org", "acme"), ("name", "drive"), ("more", "")],
    ];
    for other in others {
        assert_eq!(
            decrypt_text(&client, &sealed, other).await,
            invalid_ciphertext(),
            "{other:?}"
        );
    }

    let second_ciphertext = encrypt_text(&client, "a – sëcret", &context).await;
    assert_ne!(second_ciphertext, sealed, "equal secrets do not look equal");
}

#[tokio::test]
async fn a_changed_byte_is_noticed_wherever_it_is() {
    let fixture = Fixture::new();
    let client = client(&fixture.services);
    let sealed = encrypt_text(&client, "secret", &[]).await.into_inner();

    for at in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(
            decrypt_text(&client, &Blob::new(changed), &[]).await,
            invalid_ciphertext(),
            "byte {at}"
        );
        if at > 0 {
            assert_eq!(
                decrypt_text(&client, &Blob::new(&sealed[..at]), &[]).await,
                invalid_ciphertext(),
                "{at} bytes"
            );
        }
    }
}

#[tokio::test]
async fn requests_that_kms_refuses_are_refused() {
    let fixture = Fixture::new();
    let client = client(&fixture.services);
    let encrypt = |bytes: usize| {
        client
            .encrypt()
            .key_id("local")
            .plaintext(Blob::new(vec![1; bytes]))
    };

    assert!(encrypt(4096).send().await.is_ok());
    assert!(
        encrypt(1)
            .key_id("arn:aws:kms:us-east-1:000000000000:key/local")
            .send()
            .await
            .is_ok()
    );

    let code = |error: Option<&str>| error.map(str::to_owned);
    for bytes in [0, 4097] {
        assert_eq!(
            code(encrypt(bytes).send().await.unwrap_err().code()).as_deref(),
            Some("ValidationException")
        );
    }

    let other = encrypt(1).key_id("other").send().await.unwrap_err();
    assert!(other.as_service_error().unwrap().is_not_found_exception());

    let sealed = encrypt_text(&client, "secret", &[]).await;
    let other = client
        .decrypt()
        .key_id("other")
        .ciphertext_blob(sealed)
        .send()
        .await
        .unwrap_err();
    assert!(other.as_service_error().unwrap().is_not_found_exception());

    let rsa = encrypt(1)
        .encryption_algorithm(EncryptionAlgorithmSpec::RsaesOaepSha256)
        .send()
        .await;
    assert!(
        rsa.unwrap_err()
            .as_service_error()
            .unwrap()
            .is_invalid_key_usage_exception()
    );

    let dry_run_error = encrypt(1).dry_run(true).send().await.unwrap_err();
    assert_eq!(
        dry_run_error.code(),
        Some("ValidationException"),
        "what is not done is not ignored"
    );

    let missing = client.list_keys().send().await.unwrap_err();
    assert_eq!(missing.code(), Some("UnsupportedOperationException"));
}

#[tokio::test]
async fn the_key_is_made_once_for_its_folder_and_nobody_else_reads_it() {
    let fixture = Fixture::new();
    let file = fixture.folder.path().join("kms.key");
    assert!(!file.exists(), "made at its first use");
    let sealed = encrypt_text(&client(&fixture.services), "secret", &[]).await;
    let key = std::fs::read(&file).unwrap();
    assert_eq!(key.len(), 32);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&file).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(
        decrypt_text(&client(&fixture.reopen()), &sealed, &[]).await,
        Ok("secret".to_owned())
    );
    assert_eq!(
        decrypt_text(&client(&Fixture::new().services), &sealed, &[]).await,
        invalid_ciphertext(),
        "another folder"
    );

    std::fs::write(&file, &key[..31]).unwrap();
    let damaged = client(&fixture.services)
        .encrypt()
        .key_id("local")
        .plaintext(Blob::new("x"))
        .send()
        .await;
    assert!(
        damaged
            .unwrap_err()
            .as_service_error()
            .unwrap()
            .is_kms_internal_exception()
    );
    assert_eq!(
        std::fs::read(&file).unwrap(),
        key[..31],
        "a damaged key is not written over"
    );
}
