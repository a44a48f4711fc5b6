//! The recall service, whose tasks answer in place of the function `search` and keep indexes warm. All
//! requests about one container go to the same task, so that its index is in the memory of one task only.

mod forward;
mod task;
mod tasks;

use axum::Router;
use axum::middleware::from_fn_with_state;
use edge::App;
use http::HeaderName;
use remote::ApiClient;

use tasks::Tasks;

pub use task::task_routes;

/// The header with the version of the function that passes a request on.
const VERSION_HEADER: HeaderName = HeaderName::from_static("x-recollect-version");
/// The header with the id of a request that is passed on.
const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-recollect-request-id");
/// The version of this program. A function and tasks of two versions may not read what the other's
/// workers write.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variable with the addresses of the tasks, separated by commas: a name and a port, where the name
/// has the address of each running task. Empty without a recall service.
const RECALL_SERVICE: &str = "RECOLLECT_RECALL_SERVICE";

/// The tasks of the service, as the function `search` calls them.
#[derive(Debug)]
pub struct RecallService {
    tasks: Tasks,
    client: ApiClient,
}

impl RecallService {
    /// Returns the service that the environment names, if it names one.
    pub fn from_environment() -> Option<Self> {
        let addresses = lambda::read_non_empty(RECALL_SERVICE)?;
        Some(Self::at(&addresses))
    }

    /// Returns the service at these addresses, which are names or IP addresses with ports, separated by
    /// commas.
    pub fn at(addresses: &str) -> Self {
        Self {
            tasks: Tasks::at(addresses),
            client: ApiClient::for_own_network("recollect"),
        }
    }

    /// Sends the requests to `routes` to this service. If it cannot answer, `routes` do.
    pub fn forward_requests(self, routes: Router, app: App) -> Router {
        let forwarding = forward::Forwarding::new(self, app);
        routes.route_layer(from_fn_with_state(forwarding, forward::forward_request))
    }
}
