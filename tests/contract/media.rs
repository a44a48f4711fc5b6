//! Pictures and recordings, which the operator's models read.

use remote::ModelSettings;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::server::{ReceivedRequest, Server, build_answer, build_page};
use crate::shape::{assert_shape, document_shape, failure_shape, merge_shapes};

const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";
const MP4: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08free";

fn model_server(request: &ReceivedRequest) -> Vec<u8> {
    let body = match request.path_and_query() {
        "/v1/chat/completions" => {
            json!({"choices": [{"message": {"content": "# A harbour\n\nThe ferry QX-771 at pier nine."}}]})
        }
        "/v1/audio/transcriptions" => json!({"text": "The captain says KESTREL-22."}),
        _ => return build_answer("404 Not Found", "", b""),
    };
    build_page("application/json", body.to_string().as_bytes())
}

/// Returns a client whose operator has configured these models on a server.
async fn with_models(server: &Server, vision: bool, transcription: bool) -> OrgClient {
    let mut world = TestEnvironment::new().expect("a folder");
    let url = format!("http://{}/v1", server.address);
    let name = |set: bool, name: &str| set.then(|| name.to_owned());
    world.models = ModelSettings {
        url: Some(url),
        vision_model: name(vision, "eyes"),
        transcription_model: name(transcription, "ears"),
        ..ModelSettings::default()
    };
    OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await
}

async fn upload_file(client: &OrgClient, name: &str, bytes: &[u8]) -> Value {
    let answer = client
        .app
        .upload_file(&client.key, name, bytes, &[("customId", name)])
        .await;
    client.run_until_settled().await;
    client
        .get_document_unchecked(answer.body["id"].as_str().expect("an id"))
        .await
}

#[tokio::test]
async fn without_a_model_the_failure_names_what_is_to_be_set() {
    let client = OrgClient::new().await;
    for (name, bytes, kind, setting) in [
        ("harbour.png", PNG, "image", "RECOLLECT_VISION_MODEL"),
        ("talk.wav", WAV, "audio", "RECOLLECT_TRANSCRIPTION_MODEL"),
        ("film.mp4", MP4, "video", "RECOLLECT_TRANSCRIPTION_MODEL"),
    ] {
        let document = upload_file(&client, name, bytes).await;
        assert_shape(&document, &merge_shapes(document_shape(), &failure_shape()));
        assert_eq!(
            (&document["status"], &document["type"]),
            (&json!("failed"), &json!(kind)),
            "{document}"
        );

        let message = document["errorMessage"].as_str().expect("why");
        assert!(
            message.contains("RECOLLECT_MODEL_URL") && message.contains(setting),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_picture_is_found_by_what_a_model_sees() {
    let server = Server::start(model_server).await;
    let client = with_models(&server, true, false).await;
    let document = upload_file(&client, "harbour.png", PNG).await;
    assert_shape(&document, &document_shape());

    let told =
        ["status", "type", "title"].map(|field| document[field].as_str().unwrap_or_default());
    assert_eq!(told, ["done", "image", "harbour.png"]);
    assert!(
        document["content"]
            .as_str()
            .is_some_and(|text| text.contains("QX-771")),
        "{document}"
    );
    assert!(client.search_finds("QX-771").await);

    let received = server.received_requests();
    let asked: Value = serde_json::from_str(&received[0].body).expect("JSON");
    assert_eq!((received.len(), &asked["model"]), (1, &json!("eyes")));
    assert!(
        received[0].body.contains("data:image/png;base64,iVBOR"),
        "the picture itself is sent"
    );

    let talk = upload_file(&client, "talk.wav", WAV).await;
    let message = talk["errorMessage"].as_str().expect("why");
    assert!(
        message.contains("RECOLLECT_TRANSCRIPTION_MODEL") && !message.contains("MODEL_URL"),
        "{message}"
    );
    assert_eq!(server.connection_count(), 1);
}

#[tokio::test]
async fn a_recording_is_found_by_what_is_said_in_it() {
    let server = Server::start(model_server).await;
    let client = with_models(&server, false, true).await;
    for (name, bytes, kind) in [("talk.wav", WAV, "audio"), ("film.mp4", MP4, "video")] {
        let document = upload_file(&client, name, bytes).await;
        assert_eq!(
            (&document["status"], &document["type"]),
            (&json!("done"), &json!(kind)),
            "{document}"
        );
        assert_eq!(document["content"], "The captain says KESTREL-22.");
    }

    assert_eq!(client.search_texts("KESTREL-22").await.len(), 2);
    let received = server.received_requests();
    assert!(
        received[0].body.contains("ears") && received[0].body.contains("talk.wav"),
        "{:?}",
        received[0]
    );
}

#[tokio::test]
async fn a_model_that_refuses_or_says_nothing_fails_the_document() {
    for (status, body, code) in [
        ("400 Bad Request", "{}", "unsupported_type"),
        ("200 OK", "no JSON", "unsupported_type"),
        ("200 OK", r#"{"text":""}"#, "empty"),
    ] {
        let server = Server::start(move |_| build_answer(status, "", body.as_bytes())).await;
        let client = with_models(&server, true, true).await;
        let document = upload_file(&client, "talk.wav", WAV).await;
        assert_eq!(
            (&document["status"], &document["errorCode"]),
            (&json!("failed"), &json!(code)),
            "{body}"
        );
        assert_eq!(document["type"], "audio");
    }
}

#[tokio::test]
async fn a_model_that_is_busy_is_asked_again() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |request| {
        match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 | 1 => build_answer("503 Service Unavailable", "", b""),
            _ => model_server(request),
        }
    })
    .await;
    let client = with_models(&server, true, true).await;
    let document = upload_file(&client, "harbour.png", PNG).await;
    assert_eq!(document["status"], "done", "{document}");
    assert_eq!(server.connection_count(), 3);
}
