//! Serves a fake drive until it is stopped: `serve [--bind ADDRESS:PORT] [--demo]`.
//!
//! Prints the address on the first line, the client id on the second and the client secret on the
//! third.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use fake_drive::{DriveConfig, FakeDrive};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = DriveConfig {
        clock: Some(Arc::new(now)),
        ..DriveConfig::default()
    };

    let mut demo = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bind" => config.bind = arguments.next().ok_or("--bind needs an address")?.parse()?,
            "--demo" => demo = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }

    let drive = FakeDrive::start_with(config).await?;
    if demo {
        drive.fill_with_demo()?;
    }

    let (id, secret) = drive.client_credentials();
    let mut out = std::io::stdout();
    writeln!(out, "{}\n{id}\n{secret}", drive.base_url())?;
    out.flush()?;
    drive.wait_until_stopped().await;

    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a drive that people look at has their time"
)]
fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
