//! The protocol over the standard streams of a process.

use api_client::ApiClient;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio;

use crate::access::ApiAccess;
use crate::server::McpServer;

/// Serves the protocol on the standard streams until the input ends. The tools send their requests
/// through `api`. Nothing else may write to the standard output meanwhile.
///
/// # Errors
/// Fails if the client does not speak the protocol, or if a stream breaks.
pub async fn serve_stdio(api: ApiClient) -> anyhow::Result<()> {
    let server = McpServer::new(ApiAccess::OneCaller(api));
    let running = match server.serve(stdio()).await {
        Ok(running) => running,
        // The client has closed the input before it said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };

    running.waiting().await?;
    Ok(())
}
