//! `recollect aws-endpoints`: serves the embedded AWS services on a port.

use std::net::SocketAddr;

use anyhow::Result;
use embedded::{ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY};

use super::wait_for_interrupt;
use crate::arguments::AwsEndpoints;
use crate::listen::listen_on;
use crate::system::LocalSystem;

pub(super) async fn aws_endpoints(options: AwsEndpoints) -> Result<()> {
    let address = SocketAddr::new(options.bind, options.port);
    let listener = listen_on(address).await?;
    let system =
        LocalSystem::open(&options.data.data, options.data.power_cut.durability, None).await?;
    let interrupted = wait_for_interrupt()?;
    print_line!("export AWS_ENDPOINT_URL=http://{}", listener.local_addr()?);
    print_line!("export AWS_ACCESS_KEY_ID={ACCESS_KEY_ID}");
    print_line!("export AWS_SECRET_ACCESS_KEY={SECRET_ACCESS_KEY}");
    print_line!("export AWS_REGION={REGION} AWS_DEFAULT_REGION={REGION}");
    for (name, value) in system.names.to_environment() {
        print_line!("export {name}={value}");
    }

    embedded::serve_aws_clients(system.services, listener, interrupted).await;
    Ok(())
}
