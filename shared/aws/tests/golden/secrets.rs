//! API keys, tickets and sealed secrets.

use domain::key::{ApiKey, KeyKind, Permission};
use domain::{KeyId, OrgId, RateLimit, Secret, Timestamp};

use crate::values::{FIRST_TIME, LAST_TIME, NOW, tag, tenant};
use crate::world::World;

fn key_id(text: &str) -> KeyId {
    KeyId::parse(text).expect("a key id")
}

fn smallest_key() -> ApiKey {
    ApiKey {
        id: key_id("s"),
        org: OrgId::parse("acme").expect("an organization"),
        name: String::new(),
        kind: KeyKind::Full,
        secret_hash: [0; 32],
        permission: Permission::Read,
        tags: None,
        enabled: true,
        created_at: FIRST_TIME,
        expires_at: None,
        rate_limit: None,
        acts_as: None,
    }
}

fn largest_key() -> ApiKey {
    ApiKey {
        id: key_id(&"Z".repeat(32)),
        name: "the \"laptop\" of Änne".to_owned(),
        kind: KeyKind::Scoped,
        secret_hash: [255; 32],
        permission: Permission::Write,
        tags: Some(vec![tag("notes"), tag("sm_project_default")]),
        enabled: false,
        created_at: LAST_TIME,
        expires_at: Some(LAST_TIME),
        rate_limit: Some(RateLimit {
            max: u32::MAX,
            window_ms: i64::MAX,
        }),
        ..smallest_key()
    }
}

fn agent_key() -> ApiKey {
    ApiKey {
        id: key_id("agent"),
        kind: KeyKind::Agent,
        tags: Some(Vec::new()),
        expires_at: Some(FIRST_TIME),
        created_at: NOW,
        ..smallest_key()
    }
}

fn session_key() -> ApiKey {
    ApiKey {
        id: key_id("session"),
        kind: KeyKind::Session,
        expires_at: Some(NOW),
        created_at: NOW,
        ..smallest_key()
    }
}

fn console_session_key() -> ApiKey {
    ApiKey {
        id: key_id("console"),
        acts_as: Some(key_id("agent")),
        ..session_key()
    }
}

/// Returns the kind, the digest and the value of tickets, and the time at which they end.
fn tickets() -> [(&'static str, &'static str, &'static str, Timestamp); 2] {
    [
        ("consent", "00ff", "", NOW),
        ("picker", "ff00", "{\"connection\":\"ü\"}", LAST_TIME),
    ]
}

const SECRETS: [(&str, &str); 2] = [("app/client", "s"), ("grant/ü", "a secret")];

pub(crate) async fn write(world: &World) {
    let keys = &world.ctx.keys;
    let enabled = ApiKey {
        enabled: true,
        ..largest_key()
    };
    let sessions = [session_key(), console_session_key()];
    for key in [smallest_key(), enabled, agent_key()]
        .iter()
        .chain(&sessions)
    {
        keys.create(key).await.expect("a key");
    }
    let is_disabled = keys.set_enabled(&tenant(), &largest_key().id, false).await;
    assert!(is_disabled.expect("a disabled key"));

    for (kind, digest, value, until) in tickets() {
        let tickets = &world.ctx.tickets;
        let issued = tickets.issue(kind, digest, value, until).await;
        issued.expect("a ticket");
    }

    for (name, secret) in SECRETS {
        let vault = &world.ctx.vault;
        let stored = vault.put(&tenant(), name, &Secret::new(secret)).await;
        stored.expect("a secret");
    }
}

pub(crate) async fn check(world: &World) {
    let keys = &world.ctx.keys;
    let tenant = tenant();
    let wanted = [
        smallest_key(),
        agent_key(),
        session_key(),
        console_session_key(),
        largest_key(),
    ];
    for key in &wanted {
        let found = keys.get(&key.id).await.expect("a key");
        assert_eq!(found.as_ref(), Some(key));
    }
    let listed = keys.list(&tenant).await.expect("keys");
    assert_eq!(listed, [smallest_key(), agent_key(), largest_key()]);
    assert_eq!(keys.count(&tenant).await.expect("a number"), 3);

    for (kind, digest, value, until) in tickets() {
        let before = Timestamp::from_millis(until.as_millis() - 1);
        let found = world.ctx.tickets.look_up_ticket(kind, digest, before).await;
        assert_eq!(found.expect("a ticket").as_deref(), Some(value));
        let found = world.ctx.tickets.look_up_ticket(kind, digest, until).await;
        assert_eq!(found.expect("an expired ticket"), None);
    }

    // The key that seals secrets is another one in each folder.
    for (name, secret) in SECRETS {
        let sk = format!("V#{name}");
        world.seal_again("O#acme", &sk, name, secret).await;
        let found = world.ctx.vault.get(&tenant, name).await.expect("a secret");
        assert_eq!(found, Some(Secret::new(secret)));
    }
}
