//! Synchronization of a large cloud drive: the duration and the requests of the first
//! synchronization, the cost of a poll that finds nothing, the delay until a change reaches its
//! document, and the memory that all of it takes.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use aws::SystemClock;
use connectors::DriveSettings;
use domain::connection::{
    Connection, ConnectionStatus, Grant, OAuthAppRef, OAuthTokens, Provider, ProviderAccount,
    RunTrigger, SyncScope,
};
use domain::ports::Clock;
use domain::{ConnectionId, ContainerTag, GrantId, OrgId, Secret, Tenant};
use fake_drive::{DriveConfig, FakeDrive};
use remote::{Fetcher, ModelClient, ModelSettings, Network};
use serde_json::{Value, json};
use service::change_connection;
use sync::{ModelJudge, NextStep, SyncEngine};

use crate::rig::{BenchSystem, resident_megabytes};

const EMAIL: &str = "ada@drive.example";
/// The number of files in a folder.
const IN_FOLDER: usize = 100;
/// The longest wait. Anything slower is an error.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Serves a drive with `files` documents until standard input ends. The drive has its own process
/// so that its memory does not count as the product's.
pub(crate) async fn serve_drive(files: usize) -> Result<()> {
    let now = || SystemClock.now().as_millis();
    let drive = FakeDrive::start_with(DriveConfig {
        clock: Some(Arc::new(now)),
        ..DriveConfig::default()
    })
    .await?;
    let root = drive.get_or_create_account(EMAIL).root().to_owned();
    let wrong = |refused| anyhow::anyhow!("the drive refuses: {refused:?}");
    let mut last = String::new();
    for folder in 0..files.div_ceil(IN_FOLDER) {
        let parent = drive
            .add_folder(&root, &format!("Folder {folder}"))
            .map_err(wrong)?;
        for file in 0..IN_FOLDER.min(files - folder * IN_FOLDER) {
            let text = format!(
                "Note {file} of folder {folder} tells of berth {}.",
                folder * 7 + file
            );
            last = drive
                .add_doc(&parent, &format!("Note {file}"), &text)
                .map_err(wrong)?;
        }
    }

    let (id, secret) = drive.client_credentials();
    let about = json!({
        "url": drive.base_url(), "id": id, "secret": secret, "token": drive.access_token(EMAIL), "last": last,
    });

    println!("{about}");
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;

    Ok(())
}

/// The drive's process. It ends when this value is dropped.
struct DriveProcess {
    child: Child,
    about: Value,
}

impl DriveProcess {
    fn start(files: usize) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["drive-server", &files.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
        Ok(Self {
            child,
            about: serde_json::from_str(&line)?,
        })
    }

    fn text(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_default()
    }

    /// Sends an admin command to the drive.
    async fn send_admin_command(&self, command: &Value) -> Result<Value> {
        let client = plain_client()?;
        let answer = client
            .post(format!("{}/admin", self.text("url")))
            .json(command)
            .send()
            .await?;
        Ok(answer.json().await?)
    }

    async fn count_requests(&self) -> Result<usize> {
        let seen = self.send_admin_command(&json!({"do": "requests"})).await?;
        Ok(seen.to_string().matches("\"path\"").count())
    }
}

impl Drop for DriveProcess {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Builds a client for loopback only. Its TLS trusts no certificates.
fn plain_client() -> Result<reqwest::Client> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?;
    let tls = tls
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .build()?)
}

pub(crate) async fn run(files: usize) -> Result<()> {
    let server = DriveProcess::start(files)?;
    let rig = BenchSystem::new().await?;
    let tenant = Tenant::for_operator(OrgId::parse("local")?);
    let settings =
        DriveSettings::for_fake_drive(server.text("url"), server.text("id"), server.text("secret"));
    let fetcher = Fetcher::new(Network::simulated(|_| Vec::new(), |_, _| None));
    let engine = SyncEngine {
        ctx: rig.system.ctx.clone(),
        connectors: connectors::all_connectors(&settings, Arc::new(fetcher))?,
        judge: Arc::new(ModelJudge(ModelClient::new(ModelSettings::default()))),
        notifications: None,
    };

    let id = create_connection(&rig, &tenant, &server).await?;
    let before = resident_megabytes();
    server
        .send_admin_command(&json!({"do": "clearRequests"}))
        .await?;
    let (took, steps, largest) = step_until_idle(&engine, &tenant, &id).await?;
    let state = rig.system.ctx.sync.get_state(&tenant, &id).await?;
    let units = server
        .send_admin_command(&json!({"do": "quotaUnits"}))
        .await?;
    println!(
        "{files} files: {:.1} s in {steps} steps, {} documents",
        took.as_secs_f64(),
        state.documents
    );
    println!(
        "  requests {}, quota units {units}",
        server.count_requests().await?
    );
    println!("  memory {before} MB before, {largest} MB at most");

    measure_poll(&engine, &tenant, &id).await?;
    server
        .send_admin_command(&json!({"do": "clearRequests"}))
        .await?;
    let took = measure_poll(&engine, &tenant, &id).await?;
    println!(
        "no change: {:.0} ms, {} requests",
        took.as_secs_f64() * 1000.0,
        server.count_requests().await?
    );
    let edit =
        json!({"do": "editDoc", "id": server.text("last"), "markdown": "Berth 9 is free now."});
    server.send_admin_command(&edit).await?;
    let took = measure_poll(&engine, &tenant, &id).await?;
    println!(
        "one change: {:.0} ms until it is filed",
        took.as_secs_f64() * 1000.0
    );

    Ok(())
}

/// Creates a connection to everything, with a permission that already exists.
async fn create_connection(
    rig: &BenchSystem,
    tenant: &Tenant,
    server: &DriveProcess,
) -> Result<ConnectionId> {
    let ctx = &rig.system.ctx;
    let now = ctx.clock.now();
    let mut connection = Connection::new(Provider::CloudDrive, ContainerTag::parse("drive")?, now);
    let app = OAuthAppRef::Operator {
        client_id: server.text("id").to_owned(),
    };

    let account = ProviderAccount {
        subject: "1".to_owned(),
        email: Some(EMAIL.to_owned()),
    };

    let grant = Grant {
        id: GrantId::derived("cloud-drive", app.client_id(), &account.subject),
        provider: Provider::CloudDrive,
        account: account.clone(),
        app,
        connections: [connection.id.clone()].into(),
        secret: "grant/bench".to_owned(),
        refreshing_until: None,
        throttled_until: None,
        rev: 0,
    };

    let tokens = OAuthTokens {
        access: Secret::new(server.text("token")),
        access_until: now.plus_seconds(3600),
        refresh: Secret::new("none"),
        refresh_until: None,
    };

    ctx.vault
        .put(tenant, &grant.secret, &tokens.to_secret())
        .await?;
    ctx.connections.save_grant(tenant, &grant).await?;
    connection.scope = SyncScope::Full;
    connection.status = ConnectionStatus::Active;
    connection.account = Some(account);
    connection.grant = Some(grant.id);
    connection.request_run(RunTrigger::Manual, now);
    ctx.connections.save(tenant, &connection).await?;

    Ok(connection.id)
}

/// Runs steps until there is nothing left to do. Returns the duration, the number of steps, and the
/// highest memory use between steps.
async fn step_until_idle(
    engine: &SyncEngine,
    tenant: &Tenant,
    id: &ConnectionId,
) -> Result<(Duration, u32, u64)> {
    let (begun, mut steps, mut largest) = (Instant::now(), 0, 0);
    loop {
        steps += 1;
        let next = sync::synchronize_step(engine, tenant, id).await?;
        largest = largest.max(resident_megabytes());
        match next {
            NextStep::Again => {}
            NextStep::Later(seconds) if seconds < 60 => {
                tokio::time::sleep(Duration::from_secs(1)).await
            }
            NextStep::Later(_) | NextStep::Idle => return Ok((begun.elapsed(), steps, largest)),
        }

        if begun.elapsed() > PATIENCE {
            bail!("the synchronization does not end");
        }
    }
}

/// Requests a run, waits until it ends, and returns the duration.
async fn measure_poll(engine: &SyncEngine, tenant: &Tenant, id: &ConnectionId) -> Result<Duration> {
    let now = engine.ctx.clock.now();
    let ask = |connection: &mut Connection| {
        connection.request_run(RunTrigger::Manual, now);
        Ok(true)
    };
    change_connection(&engine.ctx, tenant, id, ask).await?;
    Ok(step_until_idle(engine, tenant, id).await?.0)
}
