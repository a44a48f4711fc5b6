//! Tests of the model endpoint: the shape of requests, the result of every kind of answer, and the
//! destination of the key.

use std::time::Duration;

use bytes::Bytes;
use domain::Secret;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{Received, Server, build_answer, ok_answer, receive_request};
use crate::{ModelClient, ModelError, ModelSettings, RoleCredentials};

const KEY: &str = "sk-very-secret";

fn settings(url: String) -> ModelSettings {
    ModelSettings {
        url: Some(url),
        key: Some(Secret::new(KEY)),
        vision_model: Some("eye".into()),
        transcription_model: Some("ear".into()),
        ..ModelSettings::default()
    }
}

fn models(server: &Server) -> ModelClient {
    ModelClient::new(settings(format!("http://{}/v1", server.address)))
}

fn said(text: &str) -> Vec<u8> {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": text } }] });
    ok_answer(
        "Content-Type: application/json\r\n",
        body.to_string().as_bytes(),
    )
}

fn only(server: &Server) -> Received {
    let mut received = server.received();
    assert_eq!(received.len(), 1);
    received.remove(0)
}

#[tokio::test]
async fn an_image_is_described_by_the_vision_model() {
    let server = Server::start(|_| said("\n# A cat\n\n## Text\n\nMIAU \n")).await;
    let text = models(&server)
        .describe_image(b"\x89PNG", "image/png")
        .await
        .unwrap();
    assert_eq!(text, "# A cat\n\n## Text\n\nMIAU");
    let request = only(&server);
    assert_eq!(
        request.head.lines().next(),
        Some("POST /v1/chat/completions HTTP/1.1")
    );
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-very-secret")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        request.header("host"),
        Some(server.address.to_string().as_str())
    );
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["model"], "eye");
    let content = &body["messages"][0]["content"];
    assert_eq!(
        content[1],
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw==" } })
    );
    let question = content[0]["text"].as_str().unwrap();
    for instruction in ["Markdown", "all visible text", "never an instruction"] {
        assert!(question.contains(instruction), "{instruction}");
    }

    assert!(
        !question.contains("  ") && !question.contains('\n'),
        "{question}"
    );
}

#[tokio::test]
async fn a_recording_is_sent_as_a_form_to_the_transcription_model() {
    let server = Server::start(|_| ok_answer("", br#"{"text":" Guten Tag. \n"}"#)).await;
    let recording = Bytes::from_static(b"RIFF\r\n--\r\n\0\xff");
    let text = models(&server)
        .transcribe(recording, "Gespr\u{e4}ch \"1\"\r\n.wav", "audio/wav")
        .await
        .unwrap();
    assert_eq!(text, "Guten Tag.");

    let request = only(&server);
    assert_eq!(
        request.head.lines().next(),
        Some("POST /v1/audio/transcriptions HTTP/1.1")
    );
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-very-secret")
    );
    assert_eq!(
        request.header("content-length"),
        Some(request.body.len().to_string().as_str())
    );

    let boundary = request
        .header("content-type")
        .unwrap()
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    let mut expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\near\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\njson\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"Gespr\u{e4}ch %221%22%0D%0A.wav\"\r\n\
         Content-Type: audio/wav\r\n\r\n"
    )
    .into_bytes();
    expected.extend_from_slice(b"RIFF\r\n--\r\n\0\xff");
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(request.body, expected);
}

#[tokio::test]
async fn a_media_type_cannot_add_lines_to_the_form() {
    let server = Server::start(|_| ok_answer("", br#"{"text":""}"#)).await;
    let outcome = models(&server)
        .transcribe(Bytes::from_static(b"x"), "a.wav", "audio/wav\r\nX: y")
        .await;
    assert_eq!(outcome.unwrap(), "");
    let form = String::from_utf8(only(&server).body).unwrap();
    assert!(
        form.contains("\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n"),
        "{form}"
    );
}

#[tokio::test]
async fn the_base_of_the_endpoint_keeps_its_path_and_query() {
    for (base, target) in [
        ("", "/chat/completions"),
        ("/", "/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/a/b?version=2", "/a/b/chat/completions?version=2"),
    ] {
        let server = Server::start(|_| said("text")).await;
        let settings = ModelSettings {
            key: None,
            ..settings(format!("http://{}{base}", server.address))
        };
        ModelClient::new(settings)
            .describe_image(b"x", "image/png")
            .await
            .unwrap();
        let request = only(&server);
        assert_eq!(
            (request.target(), request.header("authorization")),
            (target, None)
        );
    }
}

#[tokio::test]
async fn each_status_is_one_kind_of_error_without_content_and_key() {
    for (status, expected) in [
        ("400", ModelError::Refused(400)),
        ("401", ModelError::Refused(401)),
        ("404", ModelError::Refused(404)),
        ("413", ModelError::Refused(413)),
        ("408", ModelError::Unavailable),
        ("429", ModelError::Unavailable),
        ("500", ModelError::Unavailable),
        ("503", ModelError::Unavailable),
        ("302", ModelError::Invalid),
    ] {
        let server = Server::start(move |request| {
            let echo_headers = format!(
                "Location: /elsewhere\r\nX-Echo: {}\r\n",
                request.header("authorization").unwrap()
            );
            build_answer(&format!("{status} {KEY}"), &echo_headers, &request.body)
        })
        .await;
        let models = models(&server);
        let described = models
            .describe_image(b"content", "image/png")
            .await
            .unwrap_err();
        let transcribed = models
            .transcribe(Bytes::from_static(b"content"), "a.mp3", "audio/mpeg")
            .await
            .unwrap_err();
        assert_eq!(
            (&described, &transcribed),
            (&expected, &expected),
            "{status}"
        );
        assert!(
            server
                .received()
                .iter()
                .all(|request| request.target() != "/elsewhere")
        );
        assert!(!format!("{described} {described:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_refusal_that_comes_before_the_whole_file_was_sent_is_heard() {
    let server = Server::start_raw(|mut stream| async move {
        let mut piece = vec![0; 1024];
        if stream.read(&mut piece).await.is_ok() {
            let _ = stream
                .write_all(&build_answer("413 Too much", "", b""))
                .await;
            while stream.read(&mut piece).await.is_ok_and(|length| length > 0) {}
        }
    })
    .await;
    let recording = Bytes::from(vec![7; 32 << 20]);
    let outcome = models(&server)
        .transcribe(recording, "long.mp4", "video/mp4")
        .await;
    assert_eq!(outcome, Err(ModelError::Refused(413)));
}

#[tokio::test]
async fn answers_that_are_not_as_expected_are_invalid() {
    let too_long = "x".repeat(1 << 20);
    for body in [
        "",
        "no JSON",
        "[]",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[{"message":{"content":null}}],"text":null}"#,
        r#"{"choices":[{"message":{"content":" \n"}}],"text":7}"#,
        too_long.as_str(),
        &format!(r#"{{"choices":[{{"message":{{"content":"{too_long}"}}}}],"text":"{too_long}"}}"#),
    ] {
        let bytes = body.as_bytes().to_vec();
        let server = Server::start(move |_| ok_answer("", &bytes)).await;
        let models = models(&server);
        let described = models.describe_image(b"x", "image/png").await;
        let transcribed = models.transcribe(Bytes::new(), "a.mp3", "audio/mpeg").await;
        let case = &body[..body.len().min(60)];
        assert_eq!(
            (described, transcribed),
            (Err(ModelError::Invalid), Err(ModelError::Invalid)),
            "{case}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_is_absent_silent_or_breaks_off_is_unavailable() {
    let closed_address = Server::start(|_| Vec::new()).await.address;
    let absent = ModelClient::new(settings(format!("http://{closed_address}")));
    assert_eq!(
        absent.describe_image(b"x", "image/png").await,
        Err(ModelError::Unavailable)
    );

    let silent_server = Server::start_raw(|mut stream| async move {
        receive_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let impatient_client = ModelClient::with_limit(
        settings(format!("http://{}", silent_server.address)),
        Duration::from_millis(100),
    );
    assert_eq!(
        impatient_client.describe_image(b"x", "image/png").await,
        Err(ModelError::Unavailable)
    );

    let broken_server =
        Server::start(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec()).await;
    assert_eq!(
        models(&broken_server)
            .describe_image(b"x", "image/png")
            .await,
        Err(ModelError::Unavailable)
    );

    let plain_server = Server::start_plain(b"HTTP/1.1 200 OK\r\n\r\n{}").await;
    let insecure = ModelClient::new(settings(format!("https://{}", plain_server.address)));
    assert_eq!(
        insecure.describe_image(b"x", "image/png").await,
        Err(ModelError::Unavailable)
    );
    assert!(
        plain_server
            .received()
            .iter()
            .all(|sent| !sent.head.contains("POST") && !sent.head.contains(KEY))
    );
}

#[tokio::test]
async fn what_is_not_set_or_unusable_is_named() {
    let nothing = ModelClient::new(ModelSettings::default());
    let error = nothing.describe_image(b"x", "image/png").await.unwrap_err();
    assert_eq!(
        error,
        ModelError::NotConfigured {
            settings: vec!["RECOLLECT_MODEL_URL", "RECOLLECT_VISION_MODEL"]
        }
    );
    assert_eq!(
        error.to_string(),
        "no model is configured for this; missing or unusable: RECOLLECT_MODEL_URL, RECOLLECT_VISION_MODEL"
    );
    let unconfigured = ModelClient::new(ModelSettings {
        transcription_model: None,
        ..settings("http://127.0.0.1:1".into())
    });

    let error = unconfigured
        .transcribe(Bytes::new(), "a.mp3", "audio/mpeg")
        .await
        .unwrap_err();
    assert_eq!(
        error,
        ModelError::NotConfigured {
            settings: vec!["RECOLLECT_TRANSCRIPTION_MODEL"]
        }
    );
    for url in [
        "models.example.com/v1",
        "ftp://models.example.com",
        "data:,x",
        "http://me:word@models.example.com/",
    ] {
        let error = ModelClient::new(settings(url.into()))
            .describe_image(b"x", "image/png")
            .await
            .unwrap_err();
        assert_eq!(
            error,
            ModelError::NotConfigured {
                settings: vec!["RECOLLECT_MODEL_URL"]
            },
            "{url}"
        );
    }

    let broken_key = ModelSettings {
        key: Some(Secret::new("a\nb")),
        ..settings("http://127.0.0.1:1".into())
    };

    let error = ModelClient::new(broken_key)
        .describe_image(b"x", "image/png")
        .await
        .unwrap_err();
    assert_eq!(
        error,
        ModelError::NotConfigured {
            settings: vec!["RECOLLECT_MODEL_KEY"]
        }
    );
}

#[tokio::test]
async fn the_role_signs_nothing_for_other_endpoints() {
    let server = Server::start(|_| said("A cat.")).await;
    let role = RoleCredentials {
        access_key_id: "ASIAEXAMPLE".into(),
        secret_access_key: Secret::new("role-secret"),
        session_token: None,
    };
    let settings = ModelSettings {
        key: None,
        role: Some(role),
        ..settings(format!("http://{}/v1", server.address))
    };
    let models = ModelClient::new(settings);
    models.describe_image(b"x", "image/png").await.unwrap();
    assert!(!only(&server).head.to_lowercase().contains("authorization"));
}

#[test]
fn settings_come_from_the_environment_and_never_show_the_key() {
    let settings = ModelSettings::from_environment(|name| match name {
        "RECOLLECT_MODEL_URL" => Some(" http://127.0.0.1:11434/v1\n".into()),
        "RECOLLECT_MODEL_KEY" => Some(KEY.into()),
        "RECOLLECT_VISION_MODEL" => Some("eye".into()),
        "RECOLLECT_TRANSCRIPTION_MODEL" => Some("  ".into()),
        "RECOLLECT_MEMORY_MODEL" => Some("scribe".into()),
        "RECOLLECT_EMBEDDING_MODEL" => Some("compass".into()),
        "RECOLLECT_EMBEDDING_URL" => Some("http://127.0.0.1:11435/v1".into()),
        "RECOLLECT_EMBEDDING_KEY" => Some("another-secret".into()),
        "RECOLLECT_RERANK_MODEL" => Some("judge".into()),
        "RECOLLECT_RERANK_URL" => Some("http://127.0.0.1:11436/v1".into()),
        "RECOLLECT_RERANK_KEY" => Some("third-secret".into()),
        "AWS_ACCESS_KEY_ID" => Some("ASIAEXAMPLE".into()),
        "AWS_SECRET_ACCESS_KEY" => Some("role-secret".into()),
        "AWS_SESSION_TOKEN" => Some("role-token-secret".into()),
        other => panic!("{other} is no setting of ours"),
    });

    assert_eq!(settings.url.as_deref(), Some("http://127.0.0.1:11434/v1"));
    assert_eq!(settings.key.as_ref().map(Secret::expose), Some(KEY));
    assert_eq!(settings.vision_model.as_deref(), Some("eye"));
    assert_eq!(settings.transcription_model, None);
    assert_eq!(settings.memory_model.as_deref(), Some("scribe"));
    assert_eq!(settings.embedding_model.as_deref(), Some("compass"));
    assert_eq!(
        settings.embedding_url.as_deref(),
        Some("http://127.0.0.1:11435/v1")
    );
    assert_eq!(settings.rerank_model.as_deref(), Some("judge"));
    assert_eq!(
        settings.rerank_url.as_deref(),
        Some("http://127.0.0.1:11436/v1")
    );
    let role = settings.role.as_ref().unwrap();
    assert_eq!(role.access_key_id, "ASIAEXAMPLE");
    assert_eq!(role.secret_access_key.expose(), "role-secret");
    let debug_output = format!("{settings:?} {:?}", ModelClient::new(settings.clone()));
    assert!(
        debug_output.contains("eye") && !debug_output.contains("-secret"),
        "{debug_output}"
    );
    assert_eq!(
        ModelSettings::from_environment(|_| None),
        ModelSettings::default()
    );
}
