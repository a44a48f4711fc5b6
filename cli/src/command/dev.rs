//! `recollect dev`: runs the functions in `sam local start-api`, over embedded AWS services and with
//! workers in this process.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use embedded::{ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY};
use service::{create_key, expires_at};
use stack::BuiltTemplate;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use super::place::{full_key, operator_tenant};
use super::{build_outside, log_to_stderr, wait_for_interrupt};
use crate::arguments::Dev;
use crate::system::LocalSystem;
use crate::workers::Workers;

/// The organization of the key.
const ORGANIZATION: &str = "local";
/// The address of docker's bridge where docker does not tell it.
const USUAL_BRIDGE: IpAddr = IpAddr::V4(Ipv4Addr::new(172, 17, 0, 1));
/// The name of this machine in containers of Docker Desktop, which reach its loopback address.
const DESKTOP_HOST: &str = "host.docker.internal";
/// The file of the variables of the functions, in the data folder.
const VARIABLES: &str = "sam-variables.json";

pub(super) async fn run_dev(options: Dev) -> Result<()> {
    log_to_stderr("warn")?;
    let built = BuiltTemplate::open(&options.functions)?;
    let architecture = built.architecture()?;
    let system =
        LocalSystem::open(&options.data.data, options.data.power_cut.durability, None).await?;

    let bind = match options.bind {
        Some(address) => address,
        None => bridge_address().await,
    };
    let address = SocketAddr::new(bind, options.aws_port);
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}, where containers reach this machine: see --bind")
    })?;
    let endpoint = endpoint_url(listener.local_addr()?);
    let variables = write_variables(&system, &endpoint, &options.data.data)?;
    let key = create_local_key(&system).await?;

    let interrupted = wait_for_interrupt()?;
    let workers = match options.no_workers {
        true => None,
        false => {
            let outside = build_outside(&options.models, &options.drive, None)?;
            Some(Workers::start(&system, &outside).await?)
        }
    };
    // It is started last, because it would go on after an error.
    let mut sam = start_sam(&options, architecture, &endpoint, &variables)?;
    print_line!(
        "AWS:  {endpoint}\nAPI:  http://127.0.0.1:{}\nKey:  {key}",
        options.port
    );

    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let services = tokio::spawn(embedded::serve_aws_clients(
        system.services.clone(),
        listener,
        async {
            stopped.await.ok();
        },
    ));
    let ended = tokio::select! {
        status = sam.wait() => Some(status.context("wait for sam")?),
        () = interrupted => None,
    };
    if ended.is_none() {
        stop_sam(&mut sam).await?;
    }
    if let Some(workers) = workers {
        workers.stop().await;
    }
    stop.send(()).ok();
    services.await.context("the AWS services failed")?;

    match ended {
        Some(status) if !status.success() => bail!("`sam local start-api` ended with {status}"),
        _ => Ok(()),
    }
}

/// Returns the address of docker's bridge, or the loopback address where containers reach that.
async fn bridge_address() -> IpAddr {
    if cfg!(target_os = "macos") {
        return Ipv4Addr::LOCALHOST.into();
    }
    let inspect = Command::new("docker")
        .args([
            "network",
            "inspect",
            "bridge",
            "--format",
            "{{(index .IPAM.Config 0).Gateway}}",
        ])
        .stderr(Stdio::null())
        .output()
        .await;
    let told = inspect
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    told.and_then(|text| text.trim().parse().ok())
        .unwrap_or(USUAL_BRIDGE)
}

/// Returns the address of the AWS services in a container.
fn endpoint_url(address: SocketAddr) -> String {
    match address.ip().is_loopback() {
        true => format!("http://{DESKTOP_HOST}:{}", address.port()),
        false => format!("http://{address}"),
    }
}

/// Writes the variables of the functions in the form that SAM takes. Returns the file.
fn write_variables(system: &LocalSystem, endpoint: &str, folder: &Path) -> Result<PathBuf> {
    let mut variables: BTreeMap<&str, String> = system.names.to_environment().into_iter().collect();
    variables.insert("AWS_ENDPOINT_URL", endpoint.to_owned());
    let json = serde_json::json!({"Parameters": variables}).to_string();
    let file = folder.join(VARIABLES);
    std::fs::write(&file, json).with_context(|| format!("write {}", file.display()))?;
    Ok(file)
}

/// Makes a key, because the key `local` works without functions only.
async fn create_local_key(system: &LocalSystem) -> Result<String> {
    let tenant = operator_tenant(ORGANIZATION)?;
    let expires_at = expires_at(system.ctx.clock.now(), Some(1))?;
    let spec = full_key("recollect dev", expires_at);
    Ok(create_key(&system.ctx, &tenant, spec).await?.key_text)
}

fn start_sam(options: &Dev, architecture: &str, endpoint: &str, variables: &Path) -> Result<Child> {
    let mut sam = Command::new("sam");
    sam.args([
        "local",
        "start-api",
        "--host",
        "127.0.0.1",
        "--warm-containers",
        "LAZY",
    ])
    .arg("--port")
    .arg(options.port.to_string())
    .arg("--template")
    .arg(options.functions.join("template.yaml"))
    .arg("--env-vars")
    .arg(variables)
    .arg("--parameter-overrides")
    .arg(format!("Arch={architecture} EndpointUrl={endpoint}"))
    .args(&options.sam_arguments)
    .env("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID)
    .env("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
    .env("AWS_REGION", REGION)
    .env("AWS_DEFAULT_REGION", REGION)
    .stdin(Stdio::null());
    sam.spawn().context(
        "cannot run `sam`: install the SAM CLI, or put that of tests/tools.sh on the PATH: \
         PATH=$(tests/tools.sh)/bin:$PATH",
    )
}

/// Has SAM remove its containers and end. On a terminal it got Ctrl-C itself, and is ending.
async fn stop_sam(sam: &mut Child) -> Result<()> {
    if let Some(pid) = sam.id() {
        let interrupt = Command::new("kill")
            .args(["-INT", &pid.to_string()])
            .status();
        interrupt.await.context("stop sam")?;
    }
    sam.wait().await.context("wait for sam")?;
    Ok(())
}
