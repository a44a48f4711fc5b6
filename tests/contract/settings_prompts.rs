//! The effect of an organization's prompts: they guide a model, and no statements are extracted
//! from them.

use remote::ModelSettings;
use serde_json::{Value, json};
use testkit::{TestApp, TestEnvironment};

use crate::client::OrgClient;
use crate::server::{Server, build_page};

const TEXT: &str = "Mara moved to Lisbon in 2021.";

fn memory_proposal(text: &str) -> Value {
    json!({
        "text": text, "sentences": [1], "kind": "fact", "static": true, "confidence": 0.9, "speaker": null,
        "eventDate": null, "forgetAfter": null, "topic": null,
    })
}

/// Returns a client of a service whose model takes everything that it reads for a fact.
async fn with_gullible_model() -> (OrgClient, Server) {
    let server = Server::start(|_| {
        let memories = [
            "Mara moved to Lisbon in 2021.",
            "Boris breeds herons in Oslo.",
            "The station rings cranes in Utrecht.",
            "Clara sells kayaks in Bonn.",
        ];
        let content = json!({"memories": memories.map(memory_proposal)}).to_string();
        let answer = json!({"choices": [{"message": {"content": content}}]});
        build_page("application/json", answer.to_string().as_bytes())
    })
    .await;
    let mut world = TestEnvironment::new().expect("a folder");
    world.models = ModelSettings {
        url: Some(format!("http://{}/v1", server.address)),
        memory_model: Some("scribe".into()),
        ..ModelSettings::default()
    };

    (
        OrgClient::of(TestApp::start(&world, 0).await.expect("an app"), "acme").await,
        server,
    )
}

/// Returns those of the three guidance texts that the model received with the newest document.
async fn prompts_shown_to_model(client: &OrgClient, server: &Server) -> Vec<&'static str> {
    let before = server.received_requests().len();
    client
        .add_document(
            json!({"content": TEXT, "containerTag": "box", "customId": format!("note-{before}")}),
        )
        .await;
    let asked = server.received_requests().split_off(before);
    assert!(!asked.is_empty(), "the model is asked");
    let profile = client
        .post("/v4/profile", json!({"containerTag": "box"}))
        .await
        .body
        .to_string();
    assert!(profile.contains("Lisbon"), "{profile}");
    for invented in ["Oslo", "Utrecht", "kayaks"] {
        assert!(
            !profile.contains(invented),
            "only the source tells facts: {profile}"
        );
    }

    ["herons", "cranes", "kayaks"]
        .into_iter()
        .filter(|word| asked[0].body.contains(word))
        .collect()
}

#[tokio::test]
async fn prompts_reach_the_model_beside_the_containers_own_and_are_no_facts() {
    let (client, server) = with_gullible_model().await;
    assert_eq!(prompts_shown_to_model(&client, &server).await, [""; 0]);
    let prompts = json!({
        "shouldLLMFilter": true,
        "filterPrompt": "Boris breeds herons in Oslo.",
        "workspacePrompt": "The station rings cranes in Utrecht.",
    });
    assert!(
        client
            .send_patch("/v3/settings", prompts)
            .await
            .status
            .is_success()
    );
    assert_eq!(
        prompts_shown_to_model(&client, &server).await,
        ["herons", "cranes"]
    );

    client
        .send_patch(
            "/v3/container-tags/box",
            json!({"entityContext": "Clara sells kayaks in Bonn."}),
        )
        .await;
    assert_eq!(
        prompts_shown_to_model(&client, &server).await,
        ["herons", "cranes", "kayaks"]
    );

    client
        .send_patch("/v3/settings", json!({"shouldLLMFilter": false}))
        .await;
    assert_eq!(
        prompts_shown_to_model(&client, &server).await,
        ["cranes", "kayaks"],
        "what filters, filters while filtering is on"
    );

    client
        .send_patch("/v3/settings", json!({"workspacePrompt": null}))
        .await;
    assert_eq!(prompts_shown_to_model(&client, &server).await, ["kayaks"]);
}

#[tokio::test]
async fn prompts_as_long_as_they_may_be_reach_the_model_whole() {
    let (client, server) = with_gullible_model().await;
    let long =
        |length: usize, last: &str| format!("{} {last}", "x".repeat(length - last.len() - 1));
    let prompts = json!({
        "shouldLLMFilter": true, "filterPrompt": long(750, "herons"), "workspacePrompt": long(1500, "cranes"),
    });
    assert!(
        client
            .send_patch("/v3/settings", prompts)
            .await
            .status
            .is_success()
    );

    client
        .send_patch(
            "/v3/container-tags/box",
            json!({"entityContext": long(1500, "kayaks")}),
        )
        .await;
    assert_eq!(
        prompts_shown_to_model(&client, &server).await,
        ["herons", "cranes", "kayaks"]
    );
}
